//! Colours, and text that fits.

use ratatui::style::{Color, Modifier, Style};

pub(crate) const HEAD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const DIM: Style = Style::new().fg(Color::DarkGray);
pub(crate) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(crate) const LOST: Style = Style::new().fg(Color::Yellow);
pub(crate) const WRONG: Style = Style::new().fg(Color::Red);
pub(crate) const BAR: Style = Style::new().fg(Color::Black).bg(Color::Gray);
pub(crate) const ALERT: Style = Style::new().fg(Color::Black).bg(Color::Yellow);
/// One for each curve.
const CURVES: [Color; 6] = [
    Color::Green,
    Color::Magenta,
    Color::Cyan,
    Color::Yellow,
    Color::Red,
    Color::Blue,
];

/// As much of the text as fits; what is cut ends with a mark.
pub(crate) fn fit(text: &str, width: u16) -> String {
    let width = usize::from(width);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The colour of the curve with that number.
pub(crate) fn colour(at: usize) -> Color {
    let wrapped = at % CURVES.len();
    CURVES.get(wrapped).copied().unwrap_or_default()
}
