//! Who may log in, and what they may do: a file of people.
//!
//! ```toml
//! [user.anna]
//! role = "operator"                   # viewer, operator or supervisor
//! rank = 1                            # at the gate, 0 without it
//! password = "$argon2id$v=19$..."     # from `bowline station password`
//! ```

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// See everything, and stop vehicles.
    Viewer,
    /// Command vehicles.
    Operator,
    /// The same, usually with a rank that takes precedence.
    Supervisor,
}

impl Role {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Supervisor => "supervisor",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A person, as far as a page is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) rank: i32,
}

/// The people of a station.
#[derive(Clone, Debug)]
pub struct People {
    users: BTreeMap<String, User>,
    /// The password that is checked for unknown names, so that it takes as long.
    nobody: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct User {
    role: Role,
    #[serde(default)]
    rank: i32,
    password: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    user: BTreeMap<String, User>,
}

/// A file of people that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadPeople {
    /// It is not as the format has it.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// No account could log in.
    #[error("expected at least one [user.NAME], found none")]
    Nobody,
    /// A name that no station can have.
    #[error("expected a name of 1 to 32 letters, digits, `-`, `_` or `.`, found {0:?}")]
    Name(String),
    /// A password that is none.
    #[error(
        "[user.{user}] expected a password as `bowline station password` prints it, beginning with $argon2id$: {source}"
    )]
    Password {
        /// Whose.
        user: String,
        /// What is wrong with it.
        source: argon2::password_hash::Error,
    },
    /// A rank that no gate knows.
    #[error("[user.{user}] expected a rank from 0 to 100, found {rank}")]
    Rank {
        /// Whose.
        user: String,
        /// What was found.
        rank: i32,
    },
}

/// The longest password that is looked at, in bytes.
pub const MAX_PASSWORD: usize = 1_024;

impl People {
    /// Reads a file of people.
    ///
    /// # Errors
    /// When it is not as the format has it.
    pub fn parse(text: &str) -> Result<Self, BadPeople> {
        let File { user: users } = toml::from_str(text)?;
        if users.is_empty() {
            return Err(BadPeople::Nobody);
        }
        for (name, user) in &users {
            if !is_name(name) {
                return Err(BadPeople::Name(name.clone()));
            }
            if !(0..=100).contains(&user.rank) {
                return Err(BadPeople::Rank {
                    user: name.clone(),
                    rank: user.rank,
                });
            }
            check_hash(&user.password).map_err(|source| BadPeople::Password {
                user: name.clone(),
                source,
            })?;
        }
        Ok(Self {
            users,
            nobody: hash_password("no user has this password"),
        })
    }

    /// Whether there is such a person. What is no name may be a password in the wrong field, and is written down nowhere.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.users.contains_key(name)
    }

    /// The account of a password. Takes some tens of milliseconds in any case.
    pub(crate) fn check(&self, name: &str, password: &str) -> Option<Person> {
        let user = self.users.get(name);
        let hash = user.map_or(&self.nobody, |user| &user.password);
        let parsed = PasswordHash::new(hash).ok()?;
        let is_right = password.len() <= MAX_PASSWORD
            && argon2()
                .verify_password(password.as_bytes(), &parsed)
                .is_ok();
        let User { role, rank, .. } = user.filter(|_| is_right)?;
        Some(Person {
            name: name.to_owned(),
            role: *role,
            rank: *rank,
        })
    }
}

/// Whether a log-in with it could succeed: other kinds, and those without salt or output, fit no password.
fn check_hash(text: &str) -> argon2::password_hash::Result<()> {
    let hash = PasswordHash::new(text)?;
    if hash.algorithm != argon2::ARGON2ID_IDENT {
        return Err(argon2::password_hash::Error::Algorithm);
    }
    if hash.salt.is_none() || hash.hash.is_none() {
        return Err(argon2::password_hash::Error::PhcStringField);
    }
    Params::try_from(&hash)?;
    Ok(())
}

fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=32).contains(&name.len()) && name.chars().all(is_allowed)
}

/// A password as a file of people has it.
///
/// # Panics
/// When the system has no random numbers.
#[must_use]
pub fn hash_password(password: &str) -> String {
    let mut salt = [0; 16];
    SystemRandom::new()
        .fill(&mut salt)
        .expect("the system has random numbers");
    let salt = SaltString::encode_b64(&salt).expect("16 bytes are a salt");
    let hash = argon2().hash_password(password.as_bytes(), &salt);
    hash.expect("the parameters are right").to_string()
}

/// Argon2id as OWASP recommends it.
fn argon2() -> Argon2<'static> {
    let params = Params::new(19 * 1_024, 2, 1, None).expect("the parameters are right");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_log_in_with_their_own_password_only() {
        let text = format!(
            "[user.anna]\nrole = \"operator\"\nrank = 1\npassword = \"{}\"\n",
            hash_password("sesame")
        );
        let people = People::parse(&text).unwrap();
        let anna = Person {
            name: "anna".to_owned(),
            role: Role::Operator,
            rank: 1,
        };
        assert_eq!(people.check("anna", "sesame"), Some(anna));
        for (name, password) in [
            ("anna", "Sesame"),
            ("anna", ""),
            ("bob", "sesame"),
            ("", ""),
        ] {
            assert_eq!(people.check(name, password), None);
        }
        assert_eq!(people.check("bob", "no user has this password"), None);
        assert_eq!(people.check("anna", &"x".repeat(MAX_PASSWORD + 1)), None);
    }

    #[test]
    fn users_file_errors_are_reported() {
        for (text, expected) in [
            ("", "expected at least one [user.NAME], found none"),
            (
                "[user.anna]\nrole = \"king\"\npassword = \"x\"",
                "unknown variant `king`",
            ),
            (
                "[user.anna]\nrole = \"viewer\"\npassword = \"sesame\"",
                "[user.anna] expected a password as",
            ),
            (
                "[user.anna]\nrole = \"viewer\"\npassword = \"$pbkdf2-sha256$i=1000$c2FsdHNhbHQ$aGFzaGhhc2g\"",
                "[user.anna] expected a password as",
            ),
            (
                "[user.anna]\nrole = \"viewer\"\npassword = \"$argon2id$v=19$m=19456,t=2,p=1\"",
                "[user.anna] expected a password as",
            ),
            (
                "[user.anna]\nrole = \"viewer\"\npassword = \"x\"\nage = 3",
                "unknown field `age`",
            ),
            (
                "[user.\"a/b\"]\nrole = \"viewer\"\npassword = \"x\"",
                "expected a name of 1 to 32",
            ),
            (
                "[user.anna]\nrole = \"viewer\"\nrank = -1\npassword = \"x\"",
                "[user.anna] expected a rank from 0 to 100, found -1",
            ),
        ] {
            let error = People::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
