//! Names that nothing has, with those that may have been meant.

use thermocline_wire::near;

use crate::control::ControlPlane;
use crate::edit::EditError;

impl ControlPlane {
    /// There is no deployment `name`.
    pub(crate) fn no_such_deployment(&self, name: &str) -> EditError {
        let all = self.all();
        let names = all.iter().map(|deployment| &*deployment.live.name);
        EditError::NotFound(no_such("deployment", name, names))
    }

    /// There is no provider `name`; those that do not answer are not suggested.
    pub(crate) fn no_such_provider(&self, name: &str) -> String {
        let answer = self
            .providers
            .values()
            .filter(|it| it.silent_since().is_none());
        no_such("provider", name, answer.map(|it| it.name.as_str()))
    }
}

/// `no such WHAT: NAME`, and which of the `known` names are near it.
pub(crate) fn no_such<'k>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> String {
    let shown: String = name.chars().take(64).collect();
    match near(name, known)[..] {
        [] => format!("no such {what}: {shown}"),
        ref near => format!("no such {what}: {shown}; there is {}", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let known = ["sdxl", "sdxl-turbo", "llama"];
        let told = no_such("deployment", "sdlx", known);
        assert!(
            told.starts_with("no such deployment: sdlx; there is sdxl"),
            "{told}"
        );
        assert_eq!(
            no_such("deployment", "whisper", known),
            "no such deployment: whisper"
        );
    }
}
