use bowline_inspect::series::Series;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::widgets::Widget;
pub(crate) struct Curve<'a> {
    pub(crate) name: String,
    pub(crate) unit: &'a str,
    pub(crate) colour: Color,
    pub(crate) series: &'a Series,
}
pub(crate) struct Plot<'a> {
    pub(crate) curves: &'a [Curve<'a>],
    pub(crate) from_ns: i64,
    pub(crate) to_ns: i64,
    pub(crate) cursor_ns: Option<i64>,
}
impl Widget for Plot<'_> {
    fn render(self, _: Rect, _: &mut Buffer) {}
}
