//! Reads the settings from a configuration, with the keys that Hermes Agent
//! uses. Ignores unknown keys.

use std::time::Duration;

use serde_json::Value;

use super::{DelegationSettings, MixtureSettings};

/// A section of a configuration and its path.
#[derive(Clone, Copy)]
struct SettingsSection<'a> {
    name: &'a str,
    value: &'a Value,
}

impl DelegationSettings {
    /// Reads the section `delegation`. An error names the invalid key.
    pub fn read(section: &Value) -> Result<Self, String> {
        let section = SettingsSection { name: "delegation", value: section };
        section.require_object()?;
        let usual = Self::default();
        let time = section.number("child_timeout_seconds")?.filter(|seconds| *seconds > 0.0);
        Ok(Self {
            model: section.subagent_model()?,
            max_parallel: section
                .count("max_concurrent_children", 1)?
                .unwrap_or(usual.max_parallel),
            max_depth: section.count("max_spawn_depth", 0)?.unwrap_or(usual.max_depth),
            max_rounds: section.count("max_iterations", 1)?.unwrap_or(usual.max_rounds),
            time_limit: time
                .map(|seconds| section.duration("child_timeout_seconds", seconds))
                .transpose()?,
            max_summary_chars: section
                .count("max_summary_chars", 1)?
                .unwrap_or(usual.max_summary_chars),
            blocked: section.string_list("blocked_tools")?.unwrap_or(usual.blocked),
            default_toolsets: section
                .string_list("default_toolsets")?
                .filter(|names| !names.is_empty()),
            allow_orchestrators: section
                .boolean("orchestrator_enabled")?
                .unwrap_or(usual.allow_orchestrators),
            max_background: section.count("max_background", 0)?.unwrap_or(usual.max_background),
        })
    }
}

impl MixtureSettings {
    /// Reads the section `moa`: one mixture, or several under `presets`,
    /// selected by `active_preset` or `default_preset`.
    pub fn read(section: &Value) -> Result<Self, String> {
        let whole = SettingsSection { name: "moa", value: section };
        whole.require_object()?;
        let chosen = match whole.text("active_preset")? {
            Some(name) => Some(name),
            None => whole.text("default_preset")?,
        };
        let name = format!("moa.presets.{}", chosen.unwrap_or_default());
        let section = match chosen {
            None => whole,
            Some(preset) => {
                let value = section.get("presets").and_then(|presets| presets.get(preset));
                let value = value.ok_or_else(|| format!("{name} does not exist"))?;
                SettingsSection { name: &name, value }
            }
        };
        section.require_object()?;
        section.mixture()
    }
}

impl<'a> SettingsSection<'a> {
    fn mixture(self) -> Result<MixtureSettings, String> {
        let usual = MixtureSettings::default();
        let timeout = self.number("timeout_seconds")?.filter(|seconds| *seconds > 0.0);
        let timeout =
            timeout.map(|seconds| self.duration("timeout_seconds", seconds)).transpose()?;
        let aggregator = self.value.get("aggregator").filter(|value| !value.is_null());
        Ok(MixtureSettings {
            references: self.models("reference_models")?,
            aggregator: aggregator.map(|value| self.model("aggregator", value)).transpose()?,
            layers: self.count("layers", 1)?.unwrap_or(usual.layers),
            min_answers: self.count("min_successful_references", 1)?.unwrap_or(usual.min_answers),
            reference_temperature: self
                .temperature("reference_temperature", usual.reference_temperature)?,
            aggregator_temperature: self
                .temperature("aggregator_temperature", usual.aggregator_temperature)?,
            fallback_temperatures: usual.fallback_temperatures,
            max_tokens: self.count("max_tokens", 1)?.unwrap_or(usual.max_tokens),
            reply_timeout: timeout.unwrap_or(usual.reply_timeout),
            max_parallel: usual.max_parallel,
        })
    }

    /// Reads a temperature; an explicit null leaves it to the model.
    fn temperature(self, key: &str, usual: Option<f64>) -> Result<Option<f64>, String> {
        if self.value.get(key) == Some(&Value::Null) {
            return Ok(None);
        }
        Ok(self.number(key)?.or(usual))
    }

    fn require_object(self) -> Result<(), String> {
        match self.value {
            Value::Object(_) | Value::Null => Ok(()),
            _ => Err(format!("{} must be a mapping", self.name)),
        }
    }

    /// Returns the value of a key unless it is null.
    fn get(self, key: &str) -> Option<&'a Value> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    fn type_error(self, key: &str, must: &str) -> String {
        format!("{}.{key} must be {must}", self.name)
    }

    fn text(self, key: &str) -> Result<Option<&'a str>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| self.type_error(key, "text"))?.trim();
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    fn boolean(self, key: &str) -> Result<Option<bool>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.type_error(key, "true or false"))
    }

    fn number(self, key: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_f64().filter(|number| *number >= 0.0);
        number.map(Some).ok_or_else(|| self.type_error(key, "a number of at least 0"))
    }

    fn duration(self, key: &str, seconds: f64) -> Result<Duration, String> {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| self.type_error(key, "a number of seconds"))
    }

    fn count<T: TryFrom<u64>>(self, key: &str, least: u64) -> Result<Option<T>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let count = value.as_u64().filter(|count| *count >= least);
        let count = count.and_then(|count| T::try_from(count).ok());
        let must = if least == 0 { "a whole number" } else { "a positive whole number" };
        count.map(Some).ok_or_else(|| self.type_error(key, must))
    }

    fn string_list(self, key: &str) -> Result<Option<Vec<String>>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let list = value.as_array().and_then(|list| {
            list.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        list.map(Some).ok_or_else(|| self.type_error(key, "a list of names"))
    }

    /// Reads `model`, qualified by `provider` if given.
    fn subagent_model(self) -> Result<Option<String>, String> {
        let (model, provider) = (self.text("model")?, self.text("provider")?);
        // A provider alone means its default model.
        let name = qualified_model(model.unwrap_or_default(), provider);
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    fn models(self, key: &str) -> Result<Vec<String>, String> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let list = value.as_array().ok_or_else(|| self.type_error(key, "a list of models"))?;
        list.iter().map(|value| self.model(key, value)).collect()
    }

    /// Reads a model: a name, or a mapping with name and provider.
    fn model(self, key: &str, value: &Value) -> Result<String, String> {
        let field = |name: &str| value.get(name).and_then(Value::as_str);
        let model = value.as_str().or_else(|| field("model"));
        let model = model.map(str::trim).filter(|model| !model.is_empty());
        let model = model.ok_or_else(|| self.type_error(key, "MODEL, or {provider, model}"))?;
        Ok(qualified_model(model, field("provider")))
    }
}

/// Returns `PROVIDER:MODEL`, or the name alone.
fn qualified_model(model: &str, provider: Option<&str>) -> String {
    match provider.map(str::trim).filter(|name| !matches!(*name, "" | "auto")) {
        Some(provider) => format!("{provider}:{model}"),
        None => model.to_owned(),
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
