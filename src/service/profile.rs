//! Profiles: what the memories of a namespace claim about a subject.

use cuebase_language::claims::names;
use cuebase_retrieval::{ClaimSubject, ClaimTime, Error as IndexError, Snapshot, SubjectClaim};
use cuebase_storage::{AccountId, NamespaceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reads::Reads;
use crate::error::Result;
use crate::memory::time::format_ms;

/// The name of the user in a chat with an assistant, folded.
const USER: &str = "user";
/// Most claims of a profile.
const CLAIMS_MAX: usize = 1000;
/// Most subjects that a profile lists, those with the most claims.
const SUBJECTS_MAX: usize = 200;

/// Whose profile is asked for, and of which time.
#[derive(Clone, Debug, Default)]
pub struct ProfileRequest {
    /// Name of the subject. By default the person who asks, the only person who speaks, or the speaker with the most claims about themselves.
    pub subject: Option<String>,
    /// Name of the person who asks, the subject if none is given.
    pub user: Option<String>,
    /// If given, the profile is that of this time, milliseconds since the epoch.
    pub as_of: Option<i64>,
}

/// The claims about a subject.
///
/// The MCP tools read it from the response of a server. A field that the response lacks is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Profile")]
pub struct ProfileResponse {
    /// The subject, in the form in which names are compared.
    pub subject: String,
    /// The claims, up to 1,000: by attribute, current ones first, then the newest.
    pub claims: Vec<ProfileClaim>,
    /// The other subjects with claims, those with the most claims first, up to 200.
    pub subjects: Vec<String>,
}

/// A claim of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProfileClaim {
    /// Name of the attribute, such as `home`.
    pub attribute: String,
    /// The value, in the form in which values are compared.
    pub value: String,
    /// Path of the memory that claims it.
    pub path: String,
    /// When the claim began to hold, RFC 3339 in UTC. Null if unknown.
    #[schemars(extend("format" = "date-time"))]
    pub valid_from: Option<String>,
    /// When the claim stopped holding. Null while it holds.
    #[schemars(extend("format" = "date-time"))]
    pub valid_until: Option<String>,
    /// Whether the claim holds: at present, or at the time of `as_of`.
    pub current: bool,
}

/// What a snapshot knows about the subject of a profile.
struct FoundProfile {
    subject: String,
    claims: Vec<SubjectClaim>,
    subjects: Vec<ClaimSubject>,
}

impl Reads {
    /// Returns the profile of a subject in a namespace that the caller may read.
    pub fn profile(
        &self,
        account: &AccountId,
        namespace: &NamespaceName,
        request: &ProfileRequest,
    ) -> Result<ProfileResponse> {
        let lease = self.namespaces.lease(account, namespace)?;
        let time = ClaimTime { now: self.clock.now().as_millisecond(), as_of: request.as_of };
        let named = names::subject(request.subject.as_deref().or(request.user.as_deref()).unwrap_or(""));
        let found = lease.read(|snapshot| find(snapshot, &named, time))?;
        Ok(ProfileResponse::of(found))
    }
}

/// Reads the claims about a subject; about the default subject if the name is empty.
fn find(snapshot: &Snapshot, named: &str, time: ClaimTime) -> Result<FoundProfile, IndexError> {
    let subjects = snapshot.claim_subjects(SUBJECTS_MAX)?;
    let mut subject = named.to_owned();
    if named.is_empty() {
        subject = default_subject(snapshot, &subjects, time)?;
    }
    let claims = snapshot.claims_about(&subject, time)?;
    Ok(FoundProfile { subject, claims, subjects })
}

/// Returns the only person who speaks, or the user without a name if there are claims about them, else the speaker with the
/// most claims.
fn default_subject(snapshot: &Snapshot, subjects: &[ClaimSubject], time: ClaimTime) -> Result<String, IndexError> {
    if let Some(name) = snapshot.only_user()? {
        return Ok(names::subject(&name));
    }
    if snapshot.claims_about(USER, time)?.is_empty()
        && let Some(speaker) = subjects.iter().find(|subject| subject.speaks)
    {
        return Ok(speaker.name.clone());
    }
    Ok(USER.to_owned())
}

impl ProfileResponse {
    fn of(found: FoundProfile) -> Self {
        let FoundProfile { subject, claims, subjects } = found;
        let mut others = Vec::with_capacity(subjects.len());
        for other in subjects {
            if other.name != subject {
                others.push(other.name);
            }
        }
        let mut claims = without_repetitions(claims);
        claims.truncate(CLAIMS_MAX);
        Self { subject, claims: claims.into_iter().map(ProfileClaim::from).collect(), subjects: others }
    }
}

/// Sorts claims by attribute, current ones first, then newest first. Of current claims with the same value, the first
/// one stays, because the value holds since then.
pub(super) fn without_repetitions(mut claims: Vec<SubjectClaim>) -> Vec<SubjectClaim> {
    claims.sort_by(|a, b| {
        let values = (&a.subject, &a.attribute, &a.value).cmp(&(&b.subject, &b.attribute, &b.value));
        values.then(a.from.cmp(&b.from)).then_with(|| a.path.cmp(&b.path))
    });
    claims.dedup_by(|later, first| {
        let is_same =
            later.subject == first.subject && later.attribute == first.attribute && later.value == first.value;
        is_same && later.current && first.current
    });
    claims.sort_by(|a, b| {
        let attributes = a.attribute.cmp(&b.attribute).then(b.current.cmp(&a.current));
        attributes.then(b.from.cmp(&a.from)).then_with(|| a.path.cmp(&b.path))
    });
    claims
}

impl From<SubjectClaim> for ProfileClaim {
    fn from(claim: SubjectClaim) -> Self {
        Self {
            attribute: claim.attribute,
            value: claim.value,
            path: claim.path,
            valid_from: format_time(claim.from),
            valid_until: format_time(claim.until),
            current: claim.current,
        }
    }
}

fn format_time(at_ms: Option<i64>) -> Option<String> {
    format_ms(at_ms?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(attribute: &str, value: &str, from: i64, until: Option<i64>) -> SubjectClaim {
        SubjectClaim {
            path: format!("facts/{from}.md"),
            subject: "ana".into(),
            attribute: attribute.into(),
            value: value.into(),
            from: Some(from),
            until,
            current: until.is_none(),
        }
    }

    #[test]
    fn claims_are_grouped_by_attribute_with_current_ones_first() {
        let claims = vec![
            claim("home", "oslo", 100, Some(200)),
            claim("employer", "acme", 150, None),
            claim("home", "bergen", 200, None),
            claim("home", "rome", 50, Some(100)),
            claim("home", "bergen", 300, None),
        ];
        let mut values = Vec::new();
        for claim in without_repetitions(claims) {
            values.push(format!("{} {} {:?}", claim.attribute, claim.value, claim.from));
        }
        let expected =
            ["employer acme Some(150)", "home bergen Some(200)", "home oslo Some(100)", "home rome Some(50)"];
        assert_eq!(values, expected);
    }
}
