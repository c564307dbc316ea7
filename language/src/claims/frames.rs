//! Frames: phrases that state or end an attribute, around a verb.
//!
//! A line of the table has the kind, the forms of the verb, the words that lead to the value, and the shape of a value:
//!
//! ```text
//! state work works worked working: at|for / name
//! ```
//!
//! A leading `~` may stand for up to four words, and `me` makes the speaker the subject: "promoted me to".
//! The forms are the present, its third person, the past and the continuous form; `-` stands for a form that is not
//! used. `-` among the leading words means that the value follows directly.

/// What a phrase says about the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The value holds while the verb is in the present: "works at". In the past it ended.
    State,
    /// The value holds from the event on: "joined".
    Change,
    /// The value no longer holds: "left".
    End,
    /// The value stands before the verb, and the subject after it: "Tom owns the billing service".
    Inverse,
}

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Anything.
    Any,
    /// A name: a word with a capital or a digit.
    Name,
    /// Anything, up to a preposition.
    Thing,
    /// A name, or one word.
    Tool,
    /// A sport or another activity.
    Sport,
    /// A subject of study.
    Subject,
    /// A club or a group with members.
    Club,
    /// Lessons or classes.
    Lesson,
    /// An animal.
    Pet,
    /// A name, but not of a day or month.
    Place,
    /// A name, or a place of work such as "the bakery".
    Workplace,
    /// A number.
    Number,
    /// A number of a version: "2.1", "v3".
    Version,
    /// A profession.
    Role,
    /// A school.
    School,
    /// A way of eating.
    Diet,
    /// A make of car.
    Car,
    /// The state of a piece of work.
    Status,
    /// A group of people that is called a team.
    Team,
    /// A group that is called a team, or a name in the plural: "the Kestrels".
    TeamName,
    /// A plan of a product.
    Plan,
    /// A day or a time.
    Time,
    /// A number with a unit of weight.
    Weight,
    /// A class of a school: "third grade".
    Grade,
}

/// The tense of a verb's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tense {
    /// "work", "works".
    Present,
    /// "worked".
    Past,
    /// "working".
    Continuous,
}

/// A phrase that states or ends an attribute.
#[derive(Debug)]
pub struct Frame {
    /// What it says.
    pub kind: FrameKind,
    /// The forms of the verb with their tenses.
    pub forms: Vec<(&'static str, Tense)>,
    /// The words between verb and value; empty lists if the value follows directly.
    pub leads: Vec<Vec<&'static str>>,
    /// What the value must look like.
    pub shape: Shape,
}

/// Reads a line of the table. Returns `None` if it is not a frame.
pub fn read(kind: &'static str, rest: &'static str) -> Option<Frame> {
    let mut words = kind.split(' ');
    let kind = match words.next()? {
        "state" => FrameKind::State,
        "change" => FrameKind::Change,
        "end" => FrameKind::End,
        "inverse" => FrameKind::Inverse,
        _ => return None,
    };
    let tenses = [Tense::Present, Tense::Present, Tense::Past, Tense::Continuous, Tense::Past];
    let mut forms = Vec::new();
    for (form, tense) in words.zip(tenses) {
        if form != "-" {
            forms.push((form, tense));
        }
    }
    let (leads, shape) = rest.split_once(" / ")?;
    let mut all_leads = Vec::new();
    for lead in leads.split('|') {
        all_leads.push(if lead == "-" { Vec::new() } else { lead.split(' ').collect() });
    }
    // Longer leads first, so that "back to" is not read as a value.
    all_leads.sort_by_key(|lead| std::cmp::Reverse(lead.len()));
    let shape = match shape {
        "any" => Shape::Any,
        "name" => Shape::Name,
        "thing" => Shape::Thing,
        "tool" => Shape::Tool,
        "sport" => Shape::Sport,
        "subject" => Shape::Subject,
        "club" => Shape::Club,
        "lesson" => Shape::Lesson,
        "pet" => Shape::Pet,
        "place" => Shape::Place,
        "workplace" => Shape::Workplace,
        "number" => Shape::Number,
        "version" => Shape::Version,
        "role" => Shape::Role,
        "school" => Shape::School,
        "diet" => Shape::Diet,
        "car" => Shape::Car,
        "status" => Shape::Status,
        "team" => Shape::Team,
        "team-name" => Shape::TeamName,
        "plan" => Shape::Plan,
        "time" => Shape::Time,
        "weight" => Shape::Weight,
        "grade" => Shape::Grade,
        _ => return None,
    };
    if forms.is_empty() { None } else { Some(Frame { kind, forms, leads: all_leads, shape }) }
}
