//! Spanish. "Mañana" is also the morning, and "mar" the sea.

use super::table::{Language, Lead, Role, Table, Unit};

pub(super) const TABLE: Table = Table {
    language: Language::Spanish,
    months: [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre|setiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
    short_months: ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep|sept|set", "oct", "nov", "dic"],
    doubtful: "abril|mayo|julio",
    weekdays: ["lunes", "martes", "miércoles|miercoles", "jueves", "viernes", "sábado|sabado", "domingo"],
    numbers: ["uno|un|una", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"],
    words: &[
        (Role::Day(-2), "anteayer|antier|antes de ayer"),
        (Role::Day(-1), "ayer|anoche"),
        (Role::Day(0), "hoy|esta noche"),
        (Role::Day(1), "mañana"),
        (Role::Day(2), "pasado mañana"),
        (Role::DayNumber(1), "1º|1o|primero"),
        (Role::Step(0), "este|esta"),
        (Role::Step(1), "próximo|próxima|proximo|proxima"),
        (Role::StepAfter(-1), "pasado|pasada"),
        (Role::StepAfter(1), "próximo|próxima|proximo|proxima|que viene"),
        (Role::Recent, "último|última|últimos|últimas|ultimo|ultima|ultimos|ultimas|pasados|pasadas"),
        (Role::Period(Unit::Week), "semana"),
        (Role::Period(Unit::Weekend), "fin de semana|finde"),
        (Role::Period(Unit::Month), "mes"),
        (Role::Period(Unit::Year), "año"),
        (Role::Counted(Unit::Day), "día|días|dia|dias"),
        (Role::Counted(Unit::Week), "semana|semanas"),
        (Role::Counted(Unit::Month), "mes|meses"),
        (Role::Counted(Unit::Year), "año|años"),
        (Role::AgoBefore, "hace"),
        (Role::AgoAfter, "atrás|atras"),
        (Role::Of, "de|del|del año"),
        (
            Role::Leads(Lead::In),
            "en|en el|en el año|en el mes de|durante|primavera de|verano de|otoño de|invierno de|primavera|verano|\
            otoño|\
             invierno",
        ),
        (Role::Leads(Lead::Since), "desde|desde el|a partir de|a partir del"),
        (Role::Leads(Lead::After), "después de|después del|despues de|despues del|tras"),
        (Role::Leads(Lead::Before), "antes de|antes del"),
        (Role::Leads(Lead::Until), "hasta|hasta el"),
        (Role::Leads(Lead::Between), "entre|entre el"),
        (Role::Leads(Lead::Begin), "principios de|comienzos de|inicios de"),
        (Role::Leads(Lead::Middle), "mediados de"),
        (Role::Leads(Lead::End), "finales de|fines de"),
        (Role::To, "a|al|hasta|hasta el"),
        (Role::And, "y|y el"),
        (
            Role::NoDate,
            "por la mañana|de la mañana|en la mañana|a la mañana|la mañana|esta mañana|una mañana|cada mañana|el mar|\
            la mar|\
             del mar|al mar",
        ),
    ],
    shared: "mar|may|ago|set|sept|sep|a",
    common: "el la los las un una de del que qué en y es no con por para mi mis me se lo su al a como cómo cuándo \
        cuando dónde donde quién quien cuál he has ha fue era yo tú tengo hice hizo hicimos está muy pero hay son \
        sus soy fui",
};
