//! Tables that a program can add to: Bowline's rows and the program's own, under names that are unique.

/// A row that is found by its name.
pub(crate) trait Row: Copy {
    /// What a row is, in the singular.
    const NOUN: &'static str;

    fn name(&self) -> &'static str;

    fn summary(&self) -> &'static str;
}

/// Rows in the order of their names.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    /// The names of Bowline's rows.
    builtin: Vec<&'static str>,
    rows: Vec<T>,
}

impl<T: Row> Table<T> {
    pub(crate) fn new(builtin: impl IntoIterator<Item = T>) -> Self {
        let mut table = Self {
            builtin: Vec::new(),
            rows: Vec::new(),
        };
        table.add(builtin);
        table.builtin = table.rows.iter().map(Row::name).collect();
        table
    }

    /// Adds rows of the program's own.
    pub(crate) fn add(&mut self, rows: impl IntoIterator<Item = T>) {
        self.rows.extend(rows);
        // Stable: where a name is there twice, Bowline's row stays the first.
        self.rows.sort_by_key(Row::name);
    }

    /// Puts another row in the place of one of Bowline's, under its name.
    pub(crate) fn replace(&mut self, row: T) {
        if let Some(old) = self.rows.iter_mut().find(|old| old.name() == row.name()) {
            *old = row;
        }
    }

    /// Whether the program has added rows.
    pub(crate) fn has_additions(&self) -> bool {
        self.rows.len() > self.builtin.len()
    }

    pub(crate) fn rows(&self) -> &[T] {
        &self.rows
    }

    pub(crate) fn find(&self, name: &str) -> Option<&T> {
        self.rows.iter().find(|row| row.name() == name)
    }

    /// Checks that names are unique.
    pub(crate) fn check(&self) -> Result<(), NameClashError> {
        let clash = self
            .rows
            .windows(2)
            .find(|pair| pair[0].name() == pair[1].name());
        let Some([first, second]) = clash else {
            return Ok(());
        };
        let is_builtin = self.builtin.contains(&first.name());
        Err(NameClashError {
            noun: T::NOUN,
            name: first.name(),
            first_owner: if is_builtin {
                "bowline's"
            } else {
                "this program's"
            },
            first_summary: first.summary(),
            second_summary: second.summary(),
        })
    }
}

/// Two rows of a table have the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected one {noun} with the name {name:?}, found {first_owner} ({first_summary:?}) and this program's \
     ({second_summary:?}): give the latter another name"
)]
pub struct NameClashError {
    noun: &'static str,
    name: &'static str,
    first_owner: &'static str,
    first_summary: &'static str,
    second_summary: &'static str,
}
