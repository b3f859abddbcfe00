use thermocline_wire::reader::Object;

use crate::dead_letters::DeadLetterSettings;

/// Reads `[fleet.dead_letters]`, which may be absent.
pub(super) fn dead_letters(section: Option<Object<'_>>) -> DeadLetterSettings {
    let mut settings = DeadLetterSettings::default();
    let Some(section) = section else {
        return settings;
    };
    let limits = &mut settings.limits;
    limits.letters = section
        .whole("keep", 1..=1_000_000)
        .unwrap_or(limits.letters);
    limits.age = section
        .duration_above_zero("keep_for")
        .unwrap_or(limits.age);
    limits.payload_bytes = section.size("max_bytes").unwrap_or(limits.payload_bytes);
    settings.max_payload = section.size("max_payload").unwrap_or(settings.max_payload);
    settings.replays_per_minute = section
        .whole("replays_per_minute", 1..=60_000)
        .unwrap_or(settings.replays_per_minute);
    section.finish();
    settings
}
