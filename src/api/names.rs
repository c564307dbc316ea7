//! Collects the names in a JSON body that its route does not know. The values are skipped, not decoded.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::memory::fields::{Contents, Field, Lenient, part_fields};

/// The unknown names of an object and of the objects in it.
#[derive(Default)]
pub(super) struct ObjectNames {
    /// The known fields of the object.
    pub(super) fields: &'static [Field],
    /// The unknown names, sorted and each once.
    pub(super) unknown: Vec<String>,
    /// The objects in it that contain unknown names.
    pub(super) entries: Vec<EntryNames>,
}

/// The unknown names of an object in an array.
pub(super) struct EntryNames {
    /// The field whose value is the array.
    pub(super) field: &'static str,
    /// The position in the array.
    pub(super) index: usize,
    /// The names.
    pub(super) names: ObjectNames,
}

/// Returns the unknown names of a JSON object with these fields. Other JSON has none.
///
/// # Errors
///
/// That of the first byte that is not JSON.
pub(super) fn unknown_names(json: &[u8], fields: &'static [Field]) -> Result<ObjectNames, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let names = ObjectSeed(ObjectKind::Fixed(fields)).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(names)
}

/// How the known fields of an object are found.
#[derive(Clone, Copy)]
enum ObjectKind {
    /// They are these.
    Fixed(&'static [Field]),
    /// The object is a content part: its type decides.
    Part,
}

/// Declares the methods of a visitor that skip values without names.
macro_rules! skip_scalars {
    () => {
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("any JSON value")
        }

        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Default::default())
        }

        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }

        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }

        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Default::default())
        }

        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Default::default())
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
}

/// Reads a value that may be an object.
struct ObjectSeed(ObjectKind);

impl<'de> DeserializeSeed<'de> for ObjectSeed {
    type Value = ObjectNames;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ObjectNames, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed {
    type Value = ObjectNames;

    skip_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ObjectNames, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ObjectNames::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ObjectNames, A::Error> {
        match self.0 {
            ObjectKind::Fixed(fields) => names_of_object(fields, map),
            ObjectKind::Part => names_of_part(map),
        }
    }
}

/// Reads a value that may be an array of objects. Returns those with unknown names, with their positions.
struct ArraySeed(ObjectKind);

impl<'de> DeserializeSeed<'de> for ArraySeed {
    type Value = Vec<(usize, ObjectNames)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ArraySeed {
    type Value = Vec<(usize, ObjectNames)>;

    skip_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut objects = Vec::new();
        let mut index = 0;
        while let Some(names) = seq.next_element_seed(ObjectSeed(self.0))? {
            if !names.unknown.is_empty() || !names.entries.is_empty() {
                objects.push((index, names));
            }
            index += 1;
        }
        Ok(objects)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Vec::new())
    }
}

fn names_of_object<'de, A: MapAccess<'de>>(fields: &'static [Field], mut map: A) -> Result<ObjectNames, A::Error> {
    let mut names = ObjectNames { fields, ..ObjectNames::default() };
    while let Some(name) = map.next_key::<String>()? {
        let Some(field) = fields.iter().find(|field| field.name == name) else {
            names.unknown.push(name);
            map.next_value::<IgnoredAny>()?;
            continue;
        };
        let kind = match field.contents {
            Contents::Opaque => {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            Contents::Objects(fields) => ObjectKind::Fixed(fields),
            Contents::Parts => ObjectKind::Part,
        };
        for (index, entry) in map.next_value_seed(ArraySeed(kind))? {
            names.entries.push(EntryNames { field: field.name, index, names: entry });
        }
    }
    names.unknown.sort();
    names.unknown.dedup();
    Ok(names)
}

/// Returns the unknown names of a content part. A part has none if its type has no fixed fields.
fn names_of_part<'de, A: MapAccess<'de>>(mut map: A) -> Result<ObjectNames, A::Error> {
    let mut names = Vec::new();
    let mut fields = None;
    while let Some(name) = map.next_key::<String>()? {
        if name != "type" {
            map.next_value::<IgnoredAny>()?;
        } else if let Lenient::Valid(part_type) = map.next_value::<Lenient<String>>()? {
            fields = part_fields(&part_type);
        }
        names.push(name);
    }
    let Some(fields) = fields else { return Ok(ObjectNames::default()) };
    names.retain(|name| fields.iter().all(|field| field.name != name));
    names.sort();
    names.dedup();
    Ok(ObjectNames { fields, unknown: names, entries: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field { name: "a", contents: Contents::Opaque, code: None },
        Field { name: "list", contents: Contents::Objects(ENTRY), code: None },
    ];
    const ENTRY: &[Field] = &[
        Field { name: "b", contents: Contents::Opaque, code: None },
        Field { name: "parts", contents: Contents::Parts, code: None },
    ];

    /// Returns the unknown names with their places.
    fn listed(names: &ObjectNames) -> Vec<String> {
        let mut listed = names.unknown.clone();
        for entry in &names.entries {
            for name in self::listed(&entry.names) {
                listed.push(format!("{}[{}].{name}", entry.field, entry.index));
            }
        }
        listed
    }

    #[test]
    fn unknown_names_are_found_at_every_place() {
        let cases: [(&str, &[&str]); 7] = [
            (r#"{"a":{"x":1},"list":[{"b":[{"x":1}]}]}"#, &[]),
            (r#"{"z":1,"y":[{"x":1}],"z":2}"#, &["y", "z"]),
            (r#"{"list":[5,{"x":1},["x"],{"b":1,"c":2}],"list":{"x":1}}"#, &["list[1].x", "list[3].c"]),
            (
                r#"{"list":[{"parts":[{"x":1,"type":"text"},{"type":"media","text":""}]}]}"#,
                &["list[0].parts[0].x", "list[0].parts[1].text"],
            ),
            (r#"{"list":[{"parts":[{"x":1,"type":"image"},{"x":1},{"type":{"x":1}},"x"]},{"parts":"x"}]}"#, &[]),
            ("[1]", &[]),
            ("null", &[]),
        ];
        for (json, expected) in cases {
            let names = unknown_names(json.as_bytes(), FIELDS).expect("JSON");
            assert_eq!(listed(&names), expected, "{json}");
        }
        for bad in ["", "{", "{}x", r#"{"a":}"#] {
            assert!(unknown_names(bad.as_bytes(), FIELDS).is_err(), "{bad}");
        }
    }
}
