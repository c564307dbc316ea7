//! Timelines: the values over time of the facts that a memory claims.

use cuebase_retrieval::SubjectClaim;
use cuebase_storage::memory_file::MemoryPath;
use cuebase_storage::{AccountId, NamespaceName};
use schemars::JsonSchema;
use serde::Serialize;

use super::memories::no_memory;
use super::profile::ProfileClaim;
use super::reads::Reads;
use crate::error::Result;

/// Most values of a timeline. Beyond it the oldest are left out.
const VALUES_MAX: usize = 200;

/// The timelines of a memory.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Timelines")]
pub struct TimelineResponse {
    /// Path of the memory.
    path: String,
    /// One for each fact that the memory claims, in the order of its claims. Empty if it claims none.
    timelines: Vec<Timeline>,
}

/// The values of a fact, which is an attribute of a subject.
#[derive(Debug, Serialize, JsonSchema)]
struct Timeline {
    /// The subject, in the form in which names are compared. Empty if the fact has none.
    subject: String,
    /// Name of the attribute, such as `home`.
    attribute: String,
    /// The values, oldest first, at most the last 200. A value that several memories claim has the path of the first
    /// one, or of the memory of the request if that is one of them.
    values: Vec<ProfileClaim>,
}

impl Reads {
    /// Returns the timelines of the facts that a memory in a namespace claims.
    pub fn timelines(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        path: &MemoryPath,
    ) -> Result<TimelineResponse> {
        let lease = self.namespaces.lease(account, namespace)?;
        let now = self.clock.now().as_millisecond();
        let found = lease.read(|snapshot| snapshot.fact_claims(path.as_str(), now))?;
        let Some(claims) = found else { return Err(no_memory(path)) };
        let mut timelines = Vec::new();
        for of_fact in claims.chunk_by(|a, b| a.subject == b.subject && a.attribute == b.attribute) {
            let Some(SubjectClaim { subject, attribute, .. }) = of_fact.first() else { continue };
            let values = values(of_fact.to_vec(), path.as_str()).into_iter().map(ProfileClaim::from).collect();
            timelines.push(Timeline { subject: subject.clone(), attribute: attribute.clone(), values });
        }
        Ok(TimelineResponse { path: path.to_string(), timelines })
    }
}

/// Sorts the claims about a fact, oldest first. Of claims with the same value and the same end, the first one stays,
/// because the value holds since then. It gets the path `own` if the memory there makes one of them.
fn values(mut claims: Vec<SubjectClaim>, own: &str) -> Vec<SubjectClaim> {
    claims.sort_by(|a, b| {
        let values = (&a.value, a.until).cmp(&(&b.value, b.until));
        values.then(a.from.cmp(&b.from)).then_with(|| a.path.cmp(&b.path))
    });
    claims.dedup_by(|later, first| {
        let is_repetition = later.value == first.value && later.until == first.until;
        if is_repetition && later.path == own {
            first.path.clone_from(&later.path);
        }
        is_repetition
    });
    // A value of unknown time comes first. Of values that begin together, one that still holds comes last.
    claims.sort_by_key(|claim| (claim.from, claim.until.unwrap_or(i64::MAX)));
    claims.drain(..claims.len().saturating_sub(VALUES_MAX));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(path: &str, value: &str, from: Option<i64>, until: Option<i64>) -> SubjectClaim {
        let (subject, attribute) = ("ana".into(), "home".into());
        SubjectClaim {
            path: path.into(),
            subject,
            attribute,
            value: value.into(),
            from,
            until,
            current: until.is_none(),
        }
    }

    fn shown(claims: Vec<SubjectClaim>, own: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for SubjectClaim { path, value, from, until, .. } in values(claims, own) {
            lines.push(format!("{path} {value} {from:?}..{until:?}"));
        }
        lines
    }

    #[test]
    fn the_oldest_value_is_first_and_one_of_unknown_time_before_it() {
        let claims = vec![
            claim("3", "bergen", Some(300), None),
            claim("2", "oslo", Some(200), Some(300)),
            claim("1", "rome", None, Some(200)),
        ];
        assert_eq!(
            shown(claims, "2"),
            ["1 rome None..Some(200)", "2 oslo Some(200)..Some(300)", "3 bergen Some(300)..None"]
        );
    }

    #[test]
    fn a_repeated_value_is_shown_once_and_one_that_returns_twice() {
        let claims = vec![
            claim("1", "oslo", Some(100), Some(300)),
            claim("2", "oslo", Some(200), Some(300)),
            claim("3", "bergen", Some(300), Some(400)),
            claim("4", "oslo", Some(400), None),
        ];
        let later = ["3 bergen Some(300)..Some(400)", "4 oslo Some(400)..None"];
        assert_eq!(shown(claims.clone(), "3"), ["1 oslo Some(100)..Some(300)", later[0], later[1]]);
        assert_eq!(shown(claims, "2"), ["2 oslo Some(100)..Some(300)", later[0], later[1]], "its own path");
    }

    #[test]
    fn a_long_timeline_keeps_its_last_values() {
        let all = (0..250).map(|from| claim("1", &format!("house {from}"), Some(from), None)).collect();
        let kept = values(all, "1");
        assert_eq!((kept.len(), kept[0].value.as_str()), (VALUES_MAX, "house 50"));
    }
}
