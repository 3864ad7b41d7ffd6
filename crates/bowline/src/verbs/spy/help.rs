//! What the keys do.

use super::paint::HEAD;
use ratatui::Frame;
use ratatui::text::Line;

pub(crate) const TABLE_KEYS: &str =
    "enter open  / filter  < > sort  r reverse  space freeze  [ ] stretch  ? help  q quit";
pub(crate) const MESSAGE_KEYS: &str =
    "enter fold, plot  space freeze  , . step  v picture  x bytes  y copy  esc back  ? help";

const HELP: &str = "\
Everywhere
  ?            this                         q, ^C      quit
  [ ]          a stretch begins, ends here: it is written to a log
  + -  p  c    zoom the curves, large or small, remove them all
  mouse        click marks, again opens; titles sort; the wheel scrolls

Channels
  up, down     mark a channel               enter      open it
  /            show only names or types with this in them; esc all
  < >          sort by another column       r          in the other order
  space        freeze, go on; a log pauses
  lost         messages of the channel's sender that never arrived
  bad          messages that cannot be decoded; ~ where not all were tried

A message
  enter, <- -> open and close a field       enter, m   plot a number, or not
  space        freeze, go on                , .        the message before, after
  v  z         picture or scan, zoom it     x          bytes
  y            copy as JSON                 esc        back

A log
  { }          5 s back, forward            ( )        slower, faster";

pub(crate) fn draw(frame: &mut Frame<'_>) {
    let area = frame.area();
    for (y, text) in (area.y..area.bottom()).zip(HELP.lines()) {
        let line = if text.starts_with(' ') {
            Line::raw(text)
        } else {
            Line::styled(text, HEAD)
        };
        frame.buffer_mut().set_line(area.x, y, &line, area.width);
    }
}
