//! Skills for clients: each is a prompt, and its files are resources.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::{CallProposal, Effect, Policy, Scope, ToolAnnotations, Verdict, WorkingDir};
use hermes_engine::Caller;
use hermes_skills::{
    FileReferenceStyle, Skill, SkillCatalogue, SkillError, SkillFileContent, SkillInvocation,
    SkillLibrary, expand_invocation,
};
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptRequestParams, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, Prompt, PromptArgument, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Value, json};

use super::catalogue::{CURSOR_PREFIX, LIST_TTL_MS};

/// The argument of every prompt.
const TASK_ARGUMENT: &str = "task";
/// Tool and toolset under which the policy judges reads.
const JUDGED_TOOL: (&str, &str) = ("skill_view", "skills");

/// Redacts secrets from a text.
pub type TextRedactor = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The skills that are offered, as far as the policy allows reading them.
pub struct ServedSkills {
    library: SkillLibrary,
    policy: Arc<dyn Policy>,
    redact: TextRedactor,
    latest: Mutex<Option<Arc<SkillListing>>>,
    /// The listing that clients got first, if any has asked.
    first: OnceLock<Arc<SkillListing>>,
}

/// The prompts and resources at one moment.
#[derive(Debug)]
pub(crate) struct SkillListing {
    /// The catalogue it was made from.
    found: Arc<SkillCatalogue>,
    /// The same catalogue after its texts were scanned.
    catalogue: SkillCatalogue,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
}

impl ServedSkills {
    /// Serves the skills that the policy allows reading, with secrets redacted.
    pub fn new(shelf: SkillLibrary, policy: Arc<dyn Policy>, redact: TextRedactor) -> Self {
        Self { library: shelf, policy, redact, latest: Mutex::default(), first: OnceLock::new() }
    }

    /// Returns the current listing. Reads files.
    pub(crate) fn current_listing(&self, caller: &Caller) -> Arc<SkillListing> {
        let found = self.library.refresh();
        let kept = self.latest.lock().clone();
        if let Some(kept) = kept.filter(|kept| Arc::ptr_eq(&kept.found, &found)) {
            return kept;
        }
        let catalogue = found.with_texts_scanned();
        let mut prompts = Vec::new();
        let mut resources = Vec::new();
        for skill in catalogue.ready().filter(|skill| self.can_read(caller, skill, skill.file)) {
            prompts.push(self.prompt(skill));
            resources.push(self.resource(skill, skill.file));
            let files = skill.files.iter().filter(|file| self.can_read(caller, skill, file));
            resources.extend(files.map(|file| self.resource(skill, file)));
        }
        prompts.sort_by(|a, b| a.name.cmp(&b.name));
        resources.sort_by(|a, b| a.uri.cmp(&b.uri));
        let offer = Arc::new(SkillListing { found, catalogue, prompts, resources });
        *self.latest.lock() = Some(Arc::clone(&offer));
        offer
    }

    /// Returns the listing that clients got first, if any has asked.
    pub(crate) fn first_listing(&self) -> Option<&Arc<SkillListing>> {
        self.first.get()
    }

    /// Returns the current listing for a client.
    pub(crate) fn listing_for_client(&self, caller: &Caller) -> Arc<SkillListing> {
        let offer = self.current_listing(caller);
        self.first.get_or_init(|| Arc::clone(&offer));
        offer
    }

    /// Returns a skill as the user message that invokes it.
    pub(crate) fn get_prompt(
        &self,
        caller: &Caller,
        request: &GetPromptRequestParams,
    ) -> Result<GetPromptResult, ErrorData> {
        let task = task_argument(request)?;
        let offer = self.listing_for_client(caller);
        let skill =
            offer.catalogue.find_ready(&request.name).map_err(|error| skill_error(&error))?;
        self.require_readable(caller, skill, skill.file)?;
        let text = skill.instructions(None).map_err(|error| skill_error(&error))?;
        let said = match task {
            Some(task) => task.to_owned(),
            None => format!("Use the skill “{}”.", skill.manifest.name),
        };
        let message = expand_invocation(
            &said,
            &[SkillInvocation { skill, text: &text }],
            FileReferenceStyle::Uris,
        );
        let message = PromptMessage::new_text(Role::User, (self.redact)(&message));
        Ok(GetPromptResult::new(vec![message]).with_description(self.redacted_description(skill)))
    }

    /// Reads a file of a skill.
    pub(crate) fn read_resource(
        &self,
        caller: &Caller,
        uri: &str,
    ) -> Result<ReadResourceResult, ErrorData> {
        let missing =
            |what: String| ErrorData::resource_not_found(what, Some(json!({ "uri": uri })));
        let offer = self.listing_for_client(caller);
        let Some((skill, path)) = offer.catalogue.resolve_uri(uri) else {
            return Err(missing(format!("No such resource: {uri}")));
        };
        self.require_readable(caller, skill, &path)?;
        let content = skill.read(&path).map_err(|error| match error {
            SkillError::NoFile { .. } | SkillError::Outside { .. } => missing(error.to_string()),
            other => skill_error(&other),
        })?;
        let contents = match content {
            SkillFileContent::Text(text) => ResourceContents::text((self.redact)(&text), uri),
            SkillFileContent::Binary(bytes) => ResourceContents::blob(STANDARD.encode(bytes), uri),
        };
        let contents = contents.with_mime_type(media_type(&path));
        let result = ReadResourceResult::new(vec![contents]);
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    fn prompt(&self, skill: &Skill) -> Prompt {
        let task = PromptArgument::new(TASK_ARGUMENT)
            .with_description("What to do with the skill, in a few words")
            .with_required(false);
        let about = Some(self.redacted_description(skill));
        Prompt::new(skill.qualified_name.clone(), about, Some(vec![task]))
            .with_title(skill.manifest.name.clone())
    }

    fn resource(&self, skill: &Skill, path: &str) -> Resource {
        let name = format!("{}/{path}", skill.qualified_name);
        let resource = Resource::new(skill.file_uri(path), name).with_mime_type(media_type(path));
        match path == skill.file {
            true => resource
                .with_title(skill.manifest.name.clone())
                .with_description(self.redacted_description(skill)),
            false => resource,
        }
    }

    fn redacted_description(&self, skill: &Skill) -> String {
        (self.redact)(&skill.manifest.description)
    }

    fn can_read(&self, caller: &Caller, skill: &Skill, path: &str) -> bool {
        self.require_readable(caller, skill, path).is_ok()
    }

    /// Returns an error unless the policy allows reading the file without
    /// asking.
    fn require_readable(
        &self,
        caller: &Caller,
        skill: &Skill,
        path: &str,
    ) -> Result<(), ErrorData> {
        let place: PathBuf = skill.file_path(path).map_err(|error| skill_error(&error))?;
        let arguments = json!({ "name": skill.qualified_name, "file_path": path });
        let effects = [
            Effect::name(Scope::SKILL_READ, skill.qualified_name.clone()),
            Effect::path(Scope::FILE_READ, place),
        ];
        let workplace = WorkingDir::new(caller.cwd.clone(), caller.home.clone());
        let ruling = self.policy.judge(&CallProposal {
            tool: JUDGED_TOOL.0,
            toolset: JUDGED_TOOL.1,
            arguments: &arguments,
            effects: &effects,
            code: None,
            annotations: ToolAnnotations { read_only: true, ..ToolAnnotations::default() },
            working_dir: &workplace,
            call_id: JUDGED_TOOL.0,
            session: &caller.session,
            task_id: &caller.task_id,
            depth: 0,
        });
        match ruling.verdict {
            Verdict::Allow => Ok(()),
            Verdict::Ask { reason, .. } | Verdict::Deny { reason, .. } => {
                let what = format!("cannot read {path} of the skill '{}'", skill.qualified_name);
                Err(ErrorData::invalid_params(format!("{what}: {reason}"), None))
            }
        }
    }
}

/// Returns the `task` argument, if given.
fn task_argument(request: &GetPromptRequestParams) -> Result<Option<&str>, ErrorData> {
    let given = request.arguments.as_ref().and_then(|given| given.get(TASK_ARGUMENT));
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(task)) => Ok(Some(task.trim()).filter(|task| !task.is_empty())),
        Some(_) => Err(ErrorData::invalid_params("`task` must be a string", None)),
    }
}

fn skill_error(error: &SkillError) -> ErrorData {
    let hint = error.hint().map(|hint| format!(". {hint}")).unwrap_or_default();
    ErrorData::invalid_params(format!("{error}{hint}"), None)
}

/// Returns the page after the item named by the cursor, and the next cursor.
fn paginate<T: Clone>(
    all: &[T],
    name: impl Fn(&T) -> &str,
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = match cursor.map(|cursor| cursor.strip_prefix(CURSOR_PREFIX)) {
        None => 0,
        Some(Some(after)) => all.partition_point(|item| name(item) <= after),
        Some(None) => return Err(ErrorData::invalid_params("Invalid cursor", None)),
    };
    let rest = all.get(start..).unwrap_or_default();
    let (page, more) = rest.split_at(size.max(1).min(rest.len()));
    let next = page
        .last()
        .filter(|_| !more.is_empty())
        .map(|last| format!("{CURSOR_PREFIX}{}", name(last)));
    Ok((page.to_vec(), next))
}

impl SkillListing {
    pub(crate) fn prompts_page(
        &self,
        cursor: Option<&str>,
        size: usize,
    ) -> Result<ListPromptsResult, ErrorData> {
        let (page, next) = paginate(&self.prompts, |prompt| &prompt.name, cursor, size)?;
        let mut result = ListPromptsResult::with_all_items(page)
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    pub(crate) fn resources_page(
        &self,
        cursor: Option<&str>,
        size: usize,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (page, next) = paginate(&self.resources, |resource| &resource.uri, cursor, size)?;
        let mut result = ListResourcesResult::with_all_items(page)
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }
}

/// The URI template of skill files.
pub(crate) fn resource_templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new("skill://{skill}/{+path}", "skill-file")
        .with_title("A file of a skill")
        .with_description("SKILL.md holds the instructions; it refers to the other files");
    ListResourceTemplatesResult::with_all_items(vec![template])
        .with_ttl_ms(LIST_TTL_MS)
        .with_cache_scope(CacheScope::Private)
}

/// Guesses the media type from the file name.
fn media_type(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("json") => "application/json",
        Some("yaml" | "yml") => "application/yaml",
        Some("html" | "htm") => "text/html",
        Some("css") => "text/css",
        Some("csv") => "text/csv",
        Some("js" | "mjs") => "text/javascript",
        Some("py") => "text/x-python",
        Some("sh" | "bash") => "text/x-shellscript",
        Some("xml") => "application/xml",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        Some("zip") => "application/zip",
        Some("txt" | "toml" | "ini" | "cfg" | "rb" | "rs" | "ts" | "tex") | None => "text/plain",
        Some(_) => "application/octet-stream",
    }
}

impl fmt::Debug for ServedSkills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedSkills").field("shelf", &self.library).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "skills_tests.rs"]
mod tests;
