//! Known model providers, with their names and environment variables.

use crate::endpoint::ApiDialect;

/// A service that hosts models.
#[derive(Debug)]
pub(crate) struct ModelProvider {
    /// Its names, the canonical one first.
    pub(crate) names: &'static [&'static str],
    pub(crate) dialect: ApiDialect,
    pub(crate) base_url: &'static str,
    /// Variables that hold its key; the first one set is used.
    pub(crate) key_variables: &'static [&'static str],
    /// The variable that overrides the base URL.
    pub(crate) url_variable: &'static str,
    /// The default model; empty means the first that the server lists.
    pub(crate) model: &'static str,
    /// Prefixes of its models' names.
    pub(crate) model_prefixes: &'static [&'static str],
    /// Whether a key in the environment is enough to select it.
    pub(crate) is_autodetected: bool,
}

const fn autodetected(
    names: &'static [&'static str],
    base_url: &'static str,
    keys: &'static [&'static str],
    address: &'static str,
    model: &'static str,
    models: &'static [&'static str],
) -> ModelProvider {
    let dialect = ApiDialect::Chat;
    ModelProvider {
        names,
        dialect,
        base_url,
        key_variables: keys,
        url_variable: address,
        model,
        model_prefixes: models,
        is_autodetected: true,
    }
}

const fn by_request(
    names: &'static [&'static str],
    base_url: &'static str,
    keys: &'static [&'static str],
    address: &'static str,
) -> ModelProvider {
    let dialect = ApiDialect::Chat;
    ModelProvider {
        names,
        dialect,
        base_url,
        key_variables: keys,
        url_variable: address,
        model: "",
        model_prefixes: &[],
        is_autodetected: false,
    }
}

/// All known providers, in order of preference.
pub(crate) const KNOWN_PROVIDERS: &[ModelProvider] = &[
    autodetected(
        &["openrouter"],
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
        "OPENROUTER_BASE_URL",
        "openrouter/auto",
        &[],
    ),
    ModelProvider {
        dialect: ApiDialect::Anthropic,
        ..autodetected(
            &["anthropic", "claude"],
            "https://api.anthropic.com",
            &["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            "ANTHROPIC_BASE_URL",
            "claude-sonnet-4-5",
            &["claude"],
        )
    },
    autodetected(
        &["openai", "openai-api"],
        "https://api.openai.com/v1",
        &["OPENAI_API_KEY"],
        "OPENAI_BASE_URL",
        "gpt-5.1",
        &["gpt", "o1", "o3", "o4", "codex"],
    ),
    ModelProvider {
        dialect: ApiDialect::Gemini,
        ..autodetected(
            &["gemini", "google"],
            "https://generativelanguage.googleapis.com/v1beta",
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            "GEMINI_BASE_URL",
            "gemini-2.5-pro",
            &["gemini"],
        )
    },
    autodetected(
        &["deepseek"],
        "https://api.deepseek.com/v1",
        &["DEEPSEEK_API_KEY"],
        "DEEPSEEK_BASE_URL",
        "deepseek-chat",
        &["deepseek"],
    ),
    autodetected(
        &["xai", "grok"],
        "https://api.x.ai/v1",
        &["XAI_API_KEY"],
        "XAI_BASE_URL",
        "",
        &["grok"],
    ),
    autodetected(
        &["groq"],
        "https://api.groq.com/openai/v1",
        &["GROQ_API_KEY"],
        "GROQ_BASE_URL",
        "",
        &[],
    ),
    autodetected(
        &["mistral"],
        "https://api.mistral.ai/v1",
        &["MISTRAL_API_KEY"],
        "MISTRAL_BASE_URL",
        "mistral-large-latest",
        &["mistral", "codestral", "devstral", "magistral"],
    ),
    autodetected(
        &["zai", "glm"],
        "https://api.z.ai/api/paas/v4",
        &["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"],
        "GLM_BASE_URL",
        "",
        &["glm"],
    ),
    autodetected(
        &["kimi", "kimi-coding", "moonshot"],
        "https://api.moonshot.ai/v1",
        &["KIMI_API_KEY", "KIMI_CODING_API_KEY", "MOONSHOT_API_KEY"],
        "KIMI_BASE_URL",
        "",
        &["kimi", "moonshot"],
    ),
    ModelProvider {
        dialect: ApiDialect::Anthropic,
        ..autodetected(
            &["minimax"],
            "https://api.minimax.io/anthropic",
            &["MINIMAX_API_KEY"],
            "MINIMAX_BASE_URL",
            "MiniMax-M2",
            &["minimax"],
        )
    },
    by_request(
        &["alibaba", "dashscope", "qwen"],
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        &["DASHSCOPE_API_KEY"],
        "DASHSCOPE_BASE_URL",
    ),
    by_request(
        &["nvidia"],
        "https://integrate.api.nvidia.com/v1",
        &["NVIDIA_API_KEY"],
        "NVIDIA_BASE_URL",
    ),
    by_request(
        &["huggingface", "hf"],
        "https://router.huggingface.co/v1",
        &["HF_TOKEN"],
        "HF_BASE_URL",
    ),
    by_request(
        &["together"],
        "https://api.together.xyz/v1",
        &["TOGETHER_API_KEY"],
        "TOGETHER_BASE_URL",
    ),
    by_request(
        &["fireworks"],
        "https://api.fireworks.ai/inference/v1",
        &["FIREWORKS_API_KEY"],
        "FIREWORKS_BASE_URL",
    ),
    by_request(
        &["nous"],
        "https://inference-api.nousresearch.com/v1",
        &["NOUS_API_KEY"],
        "NOUS_BASE_URL",
    ),
    by_request(&["ollama"], "http://127.0.0.1:11434/v1", &["OLLAMA_API_KEY"], "OLLAMA_BASE_URL"),
    by_request(&["lmstudio"], "http://127.0.0.1:1234/v1", &["LM_API_KEY"], "LM_BASE_URL"),
    by_request(&["llamacpp", "llama.cpp"], "http://127.0.0.1:8080/v1", &[], "LLAMACPP_BASE_URL"),
    by_request(&["vllm"], "http://127.0.0.1:8000/v1", &["VLLM_API_KEY"], "VLLM_BASE_URL"),
];

impl ModelProvider {
    /// Finds a provider by name.
    pub(crate) fn by_name(name: &str) -> Option<&'static Self> {
        KNOWN_PROVIDERS.iter().find(|provider| provider.names.contains(&name))
    }
}
