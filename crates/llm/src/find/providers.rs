//! Who runs models, by the names and variables that people know.

use crate::endpoint::Dialect;

/// Somebody who runs models.
#[derive(Debug)]
pub(crate) struct Provider {
    /// Its names, of which the first is usual.
    pub(crate) names: &'static [&'static str],
    pub(crate) dialect: Dialect,
    pub(crate) base_url: &'static str,
    /// Variables that hold its key, of which the first one set counts.
    pub(crate) keys: &'static [&'static str],
    /// The variable that holds another address.
    pub(crate) address: &'static str,
    /// The model to ask when none is named; empty means the first that it has.
    pub(crate) model: &'static str,
    /// What its models' names begin with.
    pub(crate) models: &'static [&'static str],
    /// Whether it is asked without being named, if there is a key.
    pub(crate) is_found: bool,
}

const fn found(
    names: &'static [&'static str],
    base_url: &'static str,
    keys: &'static [&'static str],
    address: &'static str,
    model: &'static str,
    models: &'static [&'static str],
) -> Provider {
    let dialect = Dialect::Chat;
    Provider { names, dialect, base_url, keys, address, model, models, is_found: true }
}

const fn named(
    names: &'static [&'static str],
    base_url: &'static str,
    keys: &'static [&'static str],
    address: &'static str,
) -> Provider {
    let dialect = Dialect::Chat;
    Provider { names, dialect, base_url, keys, address, model: "", models: &[], is_found: false }
}

/// All of them, in the order in which they are looked for.
pub(crate) const PROVIDERS: &[Provider] = &[
    found(
        &["openrouter"],
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
        "OPENROUTER_BASE_URL",
        "openrouter/auto",
        &[],
    ),
    Provider {
        dialect: Dialect::Anthropic,
        ..found(
            &["anthropic", "claude"],
            "https://api.anthropic.com",
            &["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            "ANTHROPIC_BASE_URL",
            "claude-sonnet-4-5",
            &["claude"],
        )
    },
    found(
        &["openai", "openai-api"],
        "https://api.openai.com/v1",
        &["OPENAI_API_KEY"],
        "OPENAI_BASE_URL",
        "gpt-5.1",
        &["gpt", "o1", "o3", "o4", "codex"],
    ),
    Provider {
        dialect: Dialect::Gemini,
        ..found(
            &["gemini", "google"],
            "https://generativelanguage.googleapis.com/v1beta",
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            "GEMINI_BASE_URL",
            "gemini-2.5-pro",
            &["gemini"],
        )
    },
    found(
        &["deepseek"],
        "https://api.deepseek.com/v1",
        &["DEEPSEEK_API_KEY"],
        "DEEPSEEK_BASE_URL",
        "deepseek-chat",
        &["deepseek"],
    ),
    found(&["xai", "grok"], "https://api.x.ai/v1", &["XAI_API_KEY"], "XAI_BASE_URL", "", &["grok"]),
    found(&["groq"], "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], "GROQ_BASE_URL", "", &[]),
    found(
        &["mistral"],
        "https://api.mistral.ai/v1",
        &["MISTRAL_API_KEY"],
        "MISTRAL_BASE_URL",
        "mistral-large-latest",
        &["mistral", "codestral", "devstral", "magistral"],
    ),
    found(
        &["zai", "glm"],
        "https://api.z.ai/api/paas/v4",
        &["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"],
        "GLM_BASE_URL",
        "",
        &["glm"],
    ),
    found(
        &["kimi", "kimi-coding", "moonshot"],
        "https://api.moonshot.ai/v1",
        &["KIMI_API_KEY", "KIMI_CODING_API_KEY", "MOONSHOT_API_KEY"],
        "KIMI_BASE_URL",
        "",
        &["kimi", "moonshot"],
    ),
    Provider {
        dialect: Dialect::Anthropic,
        ..found(
            &["minimax"],
            "https://api.minimax.io/anthropic",
            &["MINIMAX_API_KEY"],
            "MINIMAX_BASE_URL",
            "MiniMax-M2",
            &["minimax"],
        )
    },
    named(
        &["alibaba", "dashscope", "qwen"],
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        &["DASHSCOPE_API_KEY"],
        "DASHSCOPE_BASE_URL",
    ),
    named(
        &["nvidia"],
        "https://integrate.api.nvidia.com/v1",
        &["NVIDIA_API_KEY"],
        "NVIDIA_BASE_URL",
    ),
    named(&["huggingface", "hf"], "https://router.huggingface.co/v1", &["HF_TOKEN"], "HF_BASE_URL"),
    named(&["together"], "https://api.together.xyz/v1", &["TOGETHER_API_KEY"], "TOGETHER_BASE_URL"),
    named(
        &["fireworks"],
        "https://api.fireworks.ai/inference/v1",
        &["FIREWORKS_API_KEY"],
        "FIREWORKS_BASE_URL",
    ),
    named(
        &["nous"],
        "https://inference-api.nousresearch.com/v1",
        &["NOUS_API_KEY"],
        "NOUS_BASE_URL",
    ),
    named(&["ollama"], "http://127.0.0.1:11434/v1", &["OLLAMA_API_KEY"], "OLLAMA_BASE_URL"),
    named(&["lmstudio"], "http://127.0.0.1:1234/v1", &["LM_API_KEY"], "LM_BASE_URL"),
    named(&["llamacpp", "llama.cpp"], "http://127.0.0.1:8080/v1", &[], "LLAMACPP_BASE_URL"),
    named(&["vllm"], "http://127.0.0.1:8000/v1", &["VLLM_API_KEY"], "VLLM_BASE_URL"),
];

impl Provider {
    /// By its name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.names.contains(&name))
    }
}
