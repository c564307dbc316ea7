//! Dates in every language but English: in questions, in statements, and in sentences that name none. Today is Monday,
//! 8 May 2023.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::languages::TABLES;
use super::languages::table::Language;
use super::question;
use super::statement;

const TODAY: Date = jiff::civil::date(2023, 5, 8);

/// The months and numbers of Chinese and Japanese, which are read without a table.
const NUMERALS: [&str; 12] = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"];

/// Returns the times that a question names, as first day and day after the last; at most the latest two.
fn times(question: &str) -> Vec<String> {
    let now = TODAY.at(21, 0, 0, 0).to_zoned(TimeZone::UTC).expect("a time").timestamp();
    let ranges = question::find(question, now, &TimeZone::UTC).times;
    let mut times = Vec::new();
    for range in &ranges[ranges.len().saturating_sub(2)..] {
        times.push(format!("{} {}", day(range.start), day(range.end)));
    }
    times
}

fn day(at: super::Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(at) => at.to_zoned(TimeZone::UTC).date().to_string(),
        Err(_) => "..".to_owned(),
    }
}

/// Returns the dates in a statement: the words, the first day and the day after the last.
fn mentions(statement: &str) -> Vec<String> {
    let mut mentions = Vec::new();
    for mention in statement::find(statement, TODAY) {
        let days = mention.span.days().expect("days that exist");
        mentions.push(format!("{} {} {}", &statement[mention.range], days.start, days.end));
    }
    mentions
}

fn check_questions(questions: &[(&str, &[&str])]) {
    for (question, expected) in questions {
        assert_eq!(times(question), *expected, "{question}");
    }
}

fn check_statements(statements: &[(&str, &[&str])]) {
    for (statement, expected) in statements {
        assert_eq!(mentions(statement), *expected, "{statement}");
    }
}

#[test]
fn times_are_read_in_questions_in_spanish() {
    check_questions(&[
        ("¿Qué hice ayer?", &["2023-05-07 2023-05-08"]),
        ("¿Qué compré anteayer?", &["2023-05-06 2023-05-07"]),
        ("¿Qué hice la semana pasada?", &["2023-05-01 2023-05-08"]),
        ("¿Qué tengo la próxima semana?", &["2023-05-15 2023-05-22"]),
        ("¿Dónde estuve el mes pasado?", &["2023-04-01 2023-05-01"]),
        ("¿Qué hice el año pasado?", &["2022-01-01 2023-01-01"]),
        ("¿Qué hice hace dos días?", &["2023-05-06 2023-05-07"]),
        ("¿Qué hice hace 3 semanas?", &["2023-04-17 2023-04-24"]),
        ("¿Qué dije hace doce meses?", &["2022-05-01 2022-06-01"]),
        ("¿Dónde vivía hace un año?", &["2022-01-01 2023-01-01"]),
        ("¿Qué hice el 12 de mayo de 2023?", &["2023-05-12 2023-05-13"]),
        ("¿Qué pasó el 1º de marzo de 2022?", &["2022-03-01 2022-03-02"]),
        ("¿Qué pasó en mayo de 2023?", &["2023-05-01 2023-06-01"]),
        ("¿Qué compré en octubre?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("¿Qué leí en mayo?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("¿Dónde estuve en 2021?", &["2021-01-01 2022-01-01"]),
        ("¿Qué hice en el verano de 2021?", &["2021-01-01 2022-01-01"]),
        ("¿Qué hice el viernes pasado?", &["2023-05-05 2023-05-06"]),
        ("¿Qué hice los últimos diez días?", &["2023-04-28 2023-05-09"]),
        ("¿Qué aprendí desde marzo de 2022?", &["2022-03-01 .."]),
        ("¿Dónde vivía antes de 2020?", &[".. 2020-01-01"]),
        ("¿Qué hice entre junio y agosto de 2022?", &["2022-06-01 2022-09-01"]),
        ("¿Qué hice a principios de abril de 2022?", &["2022-04-01 2022-04-11"]),
        ("¿Qué tengo pasado mañana?", &["2023-05-10 2023-05-11"]),
        ("¿Qué anoté el 3 de sept. de 2022?", &["2022-09-03 2022-09-04"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_french() {
    check_questions(&[
        ("Qu'est-ce que j'ai fait hier ?", &["2023-05-07 2023-05-08"]),
        ("Qu'ai-je acheté avant-hier ?", &["2023-05-06 2023-05-07"]),
        ("Qu'ai-je fait la semaine dernière ?", &["2023-05-01 2023-05-08"]),
        ("Qu'est-ce que je fais la semaine prochaine ?", &["2023-05-15 2023-05-22"]),
        ("Où étais-je le mois dernier ?", &["2023-04-01 2023-05-01"]),
        ("Où étais-je l'année dernière ?", &["2022-01-01 2023-01-01"]),
        ("Qu'ai-je fait l'an dernier ?", &["2022-01-01 2023-01-01"]),
        ("Qu'ai-je fait il y a deux jours ?", &["2023-05-06 2023-05-07"]),
        ("Qu'ai-je fait il y a 3 semaines ?", &["2023-04-17 2023-04-24"]),
        ("Qu'ai-je dit il y a sept jours ?", &["2023-05-01 2023-05-02"]),
        ("Où habitais-je il y a douze mois ?", &["2022-05-01 2022-06-01"]),
        ("Qu'ai-je fait le 12 mai 2023 ?", &["2023-05-12 2023-05-13"]),
        ("Que s'est-il passé le 1er mars 2022 ?", &["2022-03-01 2022-03-02"]),
        ("Où étais-je en août 2022 ?", &["2022-08-01 2022-09-01"]),
        ("Qu'ai-je lu en mai ?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("Qu'ai-je lu en octobre ?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("Où étais-je en 2021 ?", &["2021-01-01 2022-01-01"]),
        ("Où étais-je l'été 2021 ?", &["2021-01-01 2022-01-01"]),
        ("Qu'ai-je fait vendredi dernier ?", &["2023-05-05 2023-05-06"]),
        ("Qu'ai-je fait ces dix derniers jours ?", &["2023-04-28 2023-05-09"]),
        ("Qu'ai-je appris depuis mars 2022 ?", &["2022-03-01 .."]),
        ("Où habitais-je avant 2020 ?", &[".. 2020-01-01"]),
        ("Où étais-je entre juin et août 2022 ?", &["2022-06-01 2022-09-01"]),
        ("Qu'ai-je fait début avril 2022 ?", &["2022-04-01 2022-04-11"]),
        ("Qu'est-ce que je fais après-demain ?", &["2023-05-10 2023-05-11"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_german() {
    check_questions(&[
        ("Was habe ich gestern gemacht?", &["2023-05-07 2023-05-08"]),
        ("Was habe ich vorgestern gekauft?", &["2023-05-06 2023-05-07"]),
        ("Was habe ich letzte Woche gemacht?", &["2023-05-01 2023-05-08"]),
        ("Was mache ich nächste Woche?", &["2023-05-15 2023-05-22"]),
        ("Wo war ich letzten Monat?", &["2023-04-01 2023-05-01"]),
        ("Wo war ich im letzten Jahr?", &["2022-01-01 2023-01-01"]),
        ("Was habe ich vor zwei Tagen gemacht?", &["2023-05-06 2023-05-07"]),
        ("Was habe ich vor 3 Wochen gemacht?", &["2023-04-17 2023-04-24"]),
        ("Wo wohnte ich vor zwölf Monaten?", &["2022-05-01 2022-06-01"]),
        ("Wo wohnte ich vor einem Jahr?", &["2022-01-01 2023-01-01"]),
        ("Was war am 12. Mai 2023?", &["2023-05-12 2023-05-13"]),
        ("Was war am 3. Sept. 2022?", &["2022-09-03 2022-09-04"]),
        ("Wo war ich im August 2022?", &["2022-08-01 2022-09-01"]),
        ("Was habe ich im Mai gelesen?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("Was habe ich im Oktober gelesen?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("Wo war ich im Jahr 2021?", &["2021-01-01 2022-01-01"]),
        ("Wo war ich im Sommer 2021?", &["2021-01-01 2022-01-01"]),
        ("Was habe ich letzten Freitag gemacht?", &["2023-05-05 2023-05-06"]),
        ("Was war in den letzten zehn Tagen?", &["2023-04-28 2023-05-09"]),
        ("Was habe ich seit März 2022 gelernt?", &["2022-03-01 .."]),
        ("Wo wohnte ich vor 2020?", &[".. 2020-01-01"]),
        ("Wo war ich zwischen Juni und August 2022?", &["2022-06-01 2022-09-01"]),
        ("Was war Anfang April 2022?", &["2022-04-01 2022-04-11"]),
        ("Was mache ich übermorgen?", &["2023-05-10 2023-05-11"]),
        ("Was mache ich morgen?", &["2023-05-09 2023-05-10"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_portuguese() {
    check_questions(&[
        ("O que eu fiz ontem?", &["2023-05-07 2023-05-08"]),
        ("O que comprei anteontem?", &["2023-05-06 2023-05-07"]),
        ("O que fiz na semana passada?", &["2023-05-01 2023-05-08"]),
        ("O que tenho na próxima semana?", &["2023-05-15 2023-05-22"]),
        ("O que tenho na semana que vem?", &["2023-05-15 2023-05-22"]),
        ("Onde eu estava no mês passado?", &["2023-04-01 2023-05-01"]),
        ("O que fiz no ano passado?", &["2022-01-01 2023-01-01"]),
        ("O que fiz há dois dias?", &["2023-05-06 2023-05-07"]),
        ("O que eu fiz há 3 semanas?", &["2023-04-17 2023-04-24"]),
        ("Onde eu morava doze meses atrás?", &["2022-05-01 2022-06-01"]),
        ("O que fiz em 12 de maio de 2023?", &["2023-05-12 2023-05-13"]),
        ("O que aconteceu no dia 10 out. 2022?", &["2022-10-10 2022-10-11"]),
        ("O que li em maio?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("O que li em outubro?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("Onde eu estava em março de 2022?", &["2022-03-01 2022-04-01"]),
        ("Onde eu estava em 2021?", &["2021-01-01 2022-01-01"]),
        ("Onde eu estava no verão de 2021?", &["2021-01-01 2022-01-01"]),
        ("O que fiz na sexta-feira passada?", &["2023-05-05 2023-05-06"]),
        ("O que fiz nos últimos dez dias?", &["2023-04-28 2023-05-09"]),
        ("O que aprendi desde março de 2022?", &["2022-03-01 .."]),
        ("Onde eu morava antes de 2020?", &[".. 2020-01-01"]),
        ("Onde eu estava entre junho e agosto de 2022?", &["2022-06-01 2022-09-01"]),
        ("O que fiz no início de abril de 2022?", &["2022-04-01 2022-04-11"]),
        ("O que tenho depois de amanhã?", &["2023-05-10 2023-05-11"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_italian() {
    check_questions(&[
        ("Che cosa ho fatto ieri?", &["2023-05-07 2023-05-08"]),
        ("Che cosa ho fatto la settimana scorsa?", &["2023-05-01 2023-05-08"]),
        ("Che cosa faccio la prossima settimana?", &["2023-05-15 2023-05-22"]),
        ("Dove ero il mese scorso?", &["2023-04-01 2023-05-01"]),
        ("Dove ero l'anno scorso?", &["2022-01-01 2023-01-01"]),
        ("Che cosa ho fatto due giorni fa?", &["2023-05-06 2023-05-07"]),
        ("Che cosa ho fatto 3 settimane fa?", &["2023-04-17 2023-04-24"]),
        ("Dove abitavo dodici mesi fa?", &["2022-05-01 2022-06-01"]),
        ("Che cosa è successo il 12 maggio 2023?", &["2023-05-12 2023-05-13"]),
        ("Dove ero ad agosto 2022?", &["2022-08-01 2022-09-01"]),
        ("Che cosa ho letto a maggio?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("Che cosa ho letto in ottobre?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("Dove ero nel 2021?", &["2021-01-01 2022-01-01"]),
        ("Dove ero nell'estate del 2021?", &["2021-01-01 2022-01-01"]),
        ("Che cosa ho fatto venerdì scorso?", &["2023-05-05 2023-05-06"]),
        ("Che cosa ho fatto negli ultimi dieci giorni?", &["2023-04-28 2023-05-09"]),
        ("Che cosa ho imparato da marzo 2022?", &["2022-03-01 .."]),
        ("Dove abitavo prima del 2020?", &[".. 2020-01-01"]),
        ("Dove ero tra giugno e agosto 2022?", &["2022-06-01 2022-09-01"]),
        ("Che cosa faccio dopodomani?", &["2023-05-10 2023-05-11"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_dutch() {
    check_questions(&[
        ("Wat heb ik gisteren gedaan?", &["2023-05-07 2023-05-08"]),
        ("Wat heb ik vorige week gedaan?", &["2023-05-01 2023-05-08"]),
        ("Wat doe ik volgende maand?", &["2023-06-01 2023-07-01"]),
        ("Wat heb ik twee dagen geleden gedaan?", &["2023-05-06 2023-05-07"]),
        ("Wat was er op 12 mei 2023?", &["2023-05-12 2023-05-13"]),
        ("Waar was ik in maart 2022?", &["2022-03-01 2022-04-01"]),
        ("Wat heb ik in mei gelezen?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_russian() {
    check_questions(&[
        ("Что я делал вчера?", &["2023-05-07 2023-05-08"]),
        ("Что я купил позавчера?", &["2023-05-06 2023-05-07"]),
        ("Что я делал на прошлой неделе?", &["2023-05-01 2023-05-08"]),
        ("Что у меня на следующей неделе?", &["2023-05-15 2023-05-22"]),
        ("Где я был в прошлом месяце?", &["2023-04-01 2023-05-01"]),
        ("Где я был в прошлом году?", &["2022-01-01 2023-01-01"]),
        ("Что я делал два дня назад?", &["2023-05-06 2023-05-07"]),
        ("Что я делал 3 недели назад?", &["2023-04-17 2023-04-24"]),
        ("Что я делал неделю назад?", &["2023-05-01 2023-05-08"]),
        ("Где я жил год назад?", &["2022-01-01 2023-01-01"]),
        ("Где я жил двенадцать месяцев назад?", &["2022-05-01 2022-06-01"]),
        ("Что было 12 мая 2023 года?", &["2023-05-12 2023-05-13"]),
        ("Что было 3 сент. 2022?", &["2022-09-03 2022-09-04"]),
        ("Что я читал в мае?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("Что я читал в октябре?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("Где я был в августе 2022 года?", &["2022-08-01 2022-09-01"]),
        ("Где я был в 2021 году?", &["2021-01-01 2022-01-01"]),
        ("Где я был летом 2021 года?", &["2021-01-01 2022-01-01"]),
        ("Что я делал в прошлую пятницу?", &["2023-05-05 2023-05-06"]),
        ("Что было за последние десять дней?", &["2023-04-28 2023-05-09"]),
        ("Что я узнал с марта 2022 года?", &["2022-03-01 .."]),
        ("Где я жил до 2020 года?", &[".. 2020-01-01"]),
        ("Где я был с июня по август 2022 года?", &["2022-06-01 2022-09-01"]),
        ("Что было в начале апреля 2022 года?", &["2022-04-01 2022-04-11"]),
        ("Что у меня послезавтра?", &["2023-05-10 2023-05-11"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_arabic() {
    check_questions(&[
        ("ماذا فعلت أمس؟", &["2023-05-07 2023-05-08"]),
        ("ماذا اشتريت أول أمس؟", &["2023-05-06 2023-05-07"]),
        ("ماذا فعلت الأسبوع الماضي؟", &["2023-05-01 2023-05-08"]),
        ("ماذا عندي الأسبوع القادم؟", &["2023-05-15 2023-05-22"]),
        ("أين كنت الشهر الماضي؟", &["2023-04-01 2023-05-01"]),
        ("أين كنت في العام الماضي؟", &["2022-01-01 2023-01-01"]),
        ("أين كنت السنة الماضية؟", &["2022-01-01 2023-01-01"]),
        ("ماذا فعلت قبل يومين؟", &["2023-05-06 2023-05-07"]),
        ("ماذا فعلت قبل ثلاثة أسابيع؟", &["2023-04-17 2023-04-24"]),
        ("ماذا فعلت قبل ٣ أسابيع؟", &["2023-04-17 2023-04-24"]),
        ("أين كنت أسكن قبل اثني عشر شهرا؟", &["2022-05-01 2022-06-01"]),
        ("أين كنت أسكن منذ عام؟", &["2022-01-01 2023-01-01"]),
        ("ماذا حدث في ١٢ مايو ٢٠٢٣؟", &["2023-05-12 2023-05-13"]),
        ("ماذا حدث في 12 أيار 2023؟", &["2023-05-12 2023-05-13"]),
        ("ماذا قرأت في مايو؟", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("ماذا قرأت في تشرين الأول؟", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("أين كنت في أكتوبر 2022؟", &["2022-10-01 2022-11-01"]),
        ("أين كنت في عام 2021؟", &["2021-01-01 2022-01-01"]),
        ("أين كنت في صيف عام 2021؟", &["2021-01-01 2022-01-01"]),
        ("ماذا فعلت يوم الجمعة الماضي؟", &["2023-05-05 2023-05-06"]),
        ("ماذا تعلمت منذ مارس 2022؟", &["2022-03-01 .."]),
        ("أين كنت أسكن قبل عام 2020؟", &[".. 2020-01-01"]),
        ("أين كنت من يونيو إلى أغسطس 2022؟", &["2022-06-01 2022-09-01"]),
        ("ماذا حدث في بداية أبريل 2022؟", &["2022-04-01 2022-04-11"]),
        ("ماذا عندي غدًا؟", &["2023-05-09 2023-05-10"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_hindi() {
    check_questions(&[
        ("मैंने पिछले हफ़्ते क्या किया?", &["2023-05-01 2023-05-08"]),
        ("मैंने पिछले हफ्ते क्या किया?", &["2023-05-01 2023-05-08"]),
        ("अगले हफ्ते क्या है?", &["2023-05-15 2023-05-22"]),
        ("पिछले महीने मैं कहाँ था?", &["2023-04-01 2023-05-01"]),
        ("पिछले साल मैं कहाँ था?", &["2022-01-01 2023-01-01"]),
        ("दो दिन पहले मैंने क्या किया?", &["2023-05-06 2023-05-07"]),
        ("३ हफ्ते पहले मैंने क्या किया?", &["2023-04-17 2023-04-24"]),
        ("बारह महीने पहले मैं कहाँ रहता था?", &["2022-05-01 2022-06-01"]),
        ("१२ मई २०२३ को क्या हुआ?", &["2023-05-12 2023-05-13"]),
        ("१२ मई 2023 को क्या हुआ?", &["2023-05-12 2023-05-13"]),
        ("मैंने मई में क्या पढ़ा?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("मैंने अक्टूबर में क्या पढ़ा?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("मार्च 2022 में मैं कहाँ था?", &["2022-03-01 2022-04-01"]),
        ("2021 में मैं कहाँ था?", &["2021-01-01 2022-01-01"]),
        ("पिछले शुक्रवार मैंने क्या किया?", &["2023-05-05 2023-05-06"]),
        ("पिछले दस दिनों में क्या हुआ?", &["2023-04-28 2023-05-09"]),
        ("मार्च 2022 से मैंने क्या सीखा?", &["2022-03-01 .."]),
        ("2020 से पहले मैं कहाँ रहता था?", &[".. 2020-01-01"]),
        ("जून से अगस्त 2022 तक मैं कहाँ था?", &["2022-06-01 2022-09-01"]),
        ("अप्रैल 2022 की शुरुआत में क्या हुआ?", &["2022-04-01 2022-04-11"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_bengali() {
    check_questions(&[
        ("আমি গতকাল কী করেছি?", &["2023-05-07 2023-05-08"]),
        ("আমি গত সপ্তাহে কী করেছি?", &["2023-05-01 2023-05-08"]),
        ("আগামী সপ্তাহে কী আছে?", &["2023-05-15 2023-05-22"]),
        ("গত মাসে আমি কোথায় ছিলাম?", &["2023-04-01 2023-05-01"]),
        ("গত বছর আমি কোথায় ছিলাম?", &["2022-01-01 2023-01-01"]),
        ("দুই দিন আগে আমি কী করেছি?", &["2023-05-06 2023-05-07"]),
        ("৩ সপ্তাহ আগে আমি কী করেছি?", &["2023-04-17 2023-04-24"]),
        ("বারো মাস আগে আমি কোথায় থাকতাম?", &["2022-05-01 2022-06-01"]),
        ("১২ মে ২০২৩ কী হয়েছিল?", &["2023-05-12 2023-05-13"]),
        ("১২ই মে ২০২৩ তারিখে কী হয়েছিল?", &["2023-05-12 2023-05-13"]),
        ("মে মাসে আমি কী পড়েছি?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("অক্টোবরে আমি কী পড়েছি?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("২০২২ সালের মার্চ মাসে আমি কোথায় ছিলাম?", &["2022-03-01 2022-04-01"]),
        ("২০২১ সালে আমি কোথায় ছিলাম?", &["2021-01-01 2022-01-01"]),
        ("গত শুক্রবার আমি কী করেছি?", &["2023-05-05 2023-05-06"]),
        ("গত দশ দিনে কী হয়েছে?", &["2023-04-28 2023-05-09"]),
        ("মার্চ ২০২২ থেকে আমি কী শিখেছি?", &["2022-03-01 .."]),
        ("২০২০ সালের আগে আমি কোথায় থাকতাম?", &[".. 2020-01-01"]),
        ("আগামীকাল কী আছে?", &["2023-05-09 2023-05-10"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_chinese() {
    check_questions(&[
        ("我昨天做了什么?", &["2023-05-07 2023-05-08"]),
        ("我前天买了什么?", &["2023-05-06 2023-05-07"]),
        ("我上周做了什么?", &["2023-05-01 2023-05-08"]),
        ("下周有什么安排?", &["2023-05-15 2023-05-22"]),
        ("我上个月在哪里?", &["2023-04-01 2023-05-01"]),
        ("我去年住在哪里?", &["2022-01-01 2023-01-01"]),
        ("两天前我做了什么?", &["2023-05-06 2023-05-07"]),
        ("我三个星期前做了什么?", &["2023-04-17 2023-04-24"]),
        ("3周前我做了什么?", &["2023-04-17 2023-04-24"]),
        ("十二个月前我住在哪里?", &["2022-05-01 2022-06-01"]),
        ("2023年5月12日发生了什么?", &["2023-05-12 2023-05-13"]),
        ("２０２３年５月１２日发生了什么?", &["2023-05-12 2023-05-13"]),
        ("二〇二三年五月十二日发生了什么?", &["2023-05-12 2023-05-13"]),
        ("2023 年 5 月 12 日发生了什么?", &["2023-05-12 2023-05-13"]),
        ("我五月读了什么书?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("我10月份读了什么书?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("2021年我在哪里?", &["2021-01-01 2022-01-01"]),
        ("我去年5月12日在哪里?", &["2022-05-12 2022-05-13"]),
        ("我上周五做了什么?", &["2023-05-05 2023-05-06"]),
        ("下周五有什么安排?", &["2023-05-19 2023-05-20"]),
        ("最近十天发生了什么?", &["2023-04-28 2023-05-09"]),
        ("2022年3月以来我学了什么?", &["2022-03-01 .."]),
        ("2020年以前我住在哪里?", &[".. 2020-01-01"]),
        ("2022年6月到8月我在哪里?", &["2022-06-01 2022-09-01"]),
        ("2022年4月初发生了什么?", &["2022-04-01 2022-04-11"]),
        ("後天有什麼安排?", &["2023-05-10 2023-05-11"]),
        ("明天有什么安排?", &["2023-05-09 2023-05-10"]),
    ]);
}

#[test]
fn times_are_read_in_questions_in_japanese() {
    check_questions(&[
        ("昨日何をしましたか?", &["2023-05-07 2023-05-08"]),
        ("おととい何を買いましたか?", &["2023-05-06 2023-05-07"]),
        ("先週何をしましたか?", &["2023-05-01 2023-05-08"]),
        ("来週の予定は?", &["2023-05-15 2023-05-22"]),
        ("先月どこにいましたか?", &["2023-04-01 2023-05-01"]),
        ("去年どこに住んでいましたか?", &["2022-01-01 2023-01-01"]),
        ("2日前に何をしましたか?", &["2023-05-06 2023-05-07"]),
        ("三週間前に何をしましたか?", &["2023-04-17 2023-04-24"]),
        ("12か月前はどこに住んでいましたか?", &["2022-05-01 2022-06-01"]),
        ("2023年5月12日に何がありましたか?", &["2023-05-12 2023-05-13"]),
        ("5月に何を読みましたか?", &["2023-05-01 2023-06-01", "2024-05-01 2024-06-01"]),
        ("10月に何を読みましたか?", &["2023-10-01 2023-11-01", "2024-10-01 2024-11-01"]),
        ("2021年にどこにいましたか?", &["2021-01-01 2022-01-01"]),
        ("先週の金曜日に何をしましたか?", &["2023-05-05 2023-05-06"]),
        ("過去10日間に何がありましたか?", &["2023-04-28 2023-05-09"]),
        ("2022年3月から何を学びましたか?", &["2022-03-01 .."]),
        ("2020年以前はどこに住んでいましたか?", &[".. 2020-01-01"]),
        ("2022年6月から8月までどこにいましたか?", &["2022-06-01 2022-09-01"]),
        ("2022年4月上旬に何がありましたか?", &["2022-04-01 2022-04-11"]),
        ("明後日の予定は?", &["2023-05-10 2023-05-11"]),
        ("去年の5月に何をしましたか?", &["2022-05-01 2022-06-01"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_spanish() {
    check_statements(&[
        ("Ayer fui al cine.", &["Ayer 2023-05-07 2023-05-08"]),
        ("Nos vimos el viernes pasado.", &["viernes pasado 2023-05-05 2023-05-06"]),
        ("Me mudé hace tres semanas.", &["hace tres semanas 2023-04-17 2023-04-24"]),
        (
            "La semana pasada llovió y el mes pasado no.",
            &["semana pasada 2023-05-01 2023-05-08", "mes pasado 2023-04-01 2023-05-01"],
        ),
        ("Nací el 12 de mayo de 1990.", &["12 de mayo de 1990 1990-05-12 1990-05-13"]),
        ("La cita es el 20 de mayo.", &["20 de mayo 2023-05-20 2023-05-21"]),
        ("El mar estaba en calma por la mañana.", &[]),
        ("Mañana tengo dentista.", &["Mañana 2023-05-09 2023-05-10"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_french() {
    check_statements(&[
        ("Je suis allé au cinéma hier.", &["hier 2023-05-07 2023-05-08"]),
        ("On s'est vus vendredi dernier.", &["vendredi dernier 2023-05-05 2023-05-06"]),
        ("J'ai déménagé il y a trois semaines.", &["il y a trois semaines 2023-04-17 2023-04-24"]),
        (
            "La semaine dernière il a plu, et le mois dernier non.",
            &["semaine dernière 2023-05-01 2023-05-08", "mois dernier 2023-04-01 2023-05-01"],
        ),
        ("Je suis né le 12 mai 1990.", &["12 mai 1990 1990-05-12 1990-05-13"]),
        ("Le rendez-vous est le 20 mai.", &["20 mai 2023-05-20 2023-05-21"]),
        ("La planète Mars est rouge.", &[]),
        ("Il y a sept jours, on est partis.", &["Il y a sept jours 2023-05-01 2023-05-02"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_german() {
    check_statements(&[
        ("Gestern war ich im Kino.", &["Gestern 2023-05-07 2023-05-08"]),
        ("Letzten Freitag haben wir uns getroffen.", &["Letzten Freitag 2023-05-05 2023-05-06"]),
        ("Ich bin vor drei Wochen umgezogen.", &["vor drei Wochen 2023-04-17 2023-04-24"]),
        (
            "Letzte Woche hat es geregnet, letzten Monat nicht.",
            &["Letzte Woche 2023-05-01 2023-05-08", "letzten Monat 2023-04-01 2023-05-01"],
        ),
        ("Ich bin am 12. Mai 1990 geboren.", &["12. Mai 1990 1990-05-12 1990-05-13"]),
        ("Der Termin ist am 20. Mai.", &["20. Mai 2023-05-20 2023-05-21"]),
        ("Heute Morgen war ich hier.", &["Heute Morgen 2023-05-08 2023-05-09"]),
        ("Am Morgen trinke ich Tee, und morgen reise ich ab.", &["morgen 2023-05-09 2023-05-10"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_portuguese() {
    check_statements(&[
        ("Ontem eu fui ao cinema.", &["Ontem 2023-05-07 2023-05-08"]),
        ("Nós nos vimos na sexta-feira passada.", &["sexta-feira passada 2023-05-05 2023-05-06"]),
        ("Eu me mudei há três semanas.", &["há três semanas 2023-04-17 2023-04-24"]),
        (
            "Na semana passada choveu e no mês passado não.",
            &["semana passada 2023-05-01 2023-05-08", "mês passado 2023-04-01 2023-05-01"],
        ),
        ("Eu nasci em 12 de maio de 1990.", &["12 de maio de 1990 1990-05-12 1990-05-13"]),
        ("A consulta é em 20 de maio.", &["20 de maio 2023-05-20 2023-05-21"]),
        ("Amanhã eu viajo.", &["Amanhã 2023-05-09 2023-05-10"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_italian() {
    check_statements(&[
        ("Ieri sono andato al cinema.", &["Ieri 2023-05-07 2023-05-08"]),
        ("Ci siamo visti venerdì scorso.", &["venerdì scorso 2023-05-05 2023-05-06"]),
        ("Mi sono trasferito tre settimane fa.", &["tre settimane fa 2023-04-17 2023-04-24"]),
        (
            "La settimana scorsa ha piovuto e il mese scorso no.",
            &["settimana scorsa 2023-05-01 2023-05-08", "mese scorso 2023-04-01 2023-05-01"],
        ),
        ("Sono nato il 12 maggio 1990.", &["12 maggio 1990 1990-05-12 1990-05-13"]),
        ("La visita è il 20 maggio.", &["20 maggio 2023-05-20 2023-05-21"]),
        ("Domani parto.", &["Domani 2023-05-09 2023-05-10"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_dutch() {
    check_statements(&[
        ("Ik was gisteren in de bioscoop.", &["gisteren 2023-05-07 2023-05-08"]),
        ("Ik ben drie weken geleden verhuisd.", &["drie weken geleden 2023-04-17 2023-04-24"]),
        ("Ik heb op 20 mei een afspraak.", &["20 mei 2023-05-20 2023-05-21"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_russian() {
    check_statements(&[
        ("Вчера я ходил в кино.", &["Вчера 2023-05-07 2023-05-08"]),
        ("Мы виделись в прошлую пятницу.", &["прошлую пятницу 2023-05-05 2023-05-06"]),
        ("Я переехал три недели назад.", &["три недели назад 2023-04-17 2023-04-24"]),
        (
            "На прошлой неделе шёл дождь, а в прошлом месяце нет.",
            &["прошлой неделе 2023-05-01 2023-05-08", "прошлом месяце 2023-04-01 2023-05-01"],
        ),
        ("Я родился 12 мая 1990 года.", &["12 мая 1990 1990-05-12 1990-05-13"]),
        ("Встреча 20 мая.", &["20 мая 2023-05-20 2023-05-21"]),
        ("Месяц назад я был в Риге.", &["Месяц назад 2023-04-01 2023-05-01"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_arabic() {
    check_statements(&[
        ("ذهبت إلى السينما أمس.", &["أمس 2023-05-07 2023-05-08"]),
        ("التقينا يوم الجمعة الماضي.", &["الجمعة الماضي 2023-05-05 2023-05-06"]),
        ("انتقلت قبل ثلاثة أسابيع.", &["قبل ثلاثة أسابيع 2023-04-17 2023-04-24"]),
        (
            "الأسبوع الماضي سافرت، والشهر الماضي لا.",
            &["الأسبوع الماضي 2023-05-01 2023-05-08", "والشهر الماضي 2023-04-01 2023-05-01"],
        ),
        ("ولدت في ١٢ مايو ١٩٩٠.", &["١٢ مايو ١٩٩٠ 1990-05-12 1990-05-13"]),
        ("الموعد في 20 أيار.", &["20 أيار 2023-05-20 2023-05-21"]),
        ("انتقلت قبل شهرين.", &["قبل شهرين 2023-03-01 2023-04-01"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_hindi() {
    check_statements(&[
        ("पिछले शुक्रवार हम मिले।", &["पिछले शुक्रवार 2023-05-05 2023-05-06"]),
        ("मैं तीन हफ्ते पहले आया।", &["तीन हफ्ते पहले 2023-04-17 2023-04-24"]),
        ("पिछले महीने बारिश हुई।", &["पिछले महीने 2023-04-01 2023-05-01"]),
        ("मेरा जन्म १२ मई १९९० को हुआ।", &["१२ मई १९९० 1990-05-12 1990-05-13"]),
        ("मुलाकात 20 मई को है।", &["20 मई 2023-05-20 2023-05-21"]),
        ("मैं कल सिनेमा गया था।", &[]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_bengali() {
    check_statements(&[
        ("গতকাল আমি সিনেমায় গিয়েছিলাম।", &["গতকাল 2023-05-07 2023-05-08"]),
        ("গত শুক্রবার আমাদের দেখা হয়েছিল।", &["গত শুক্রবার 2023-05-05 2023-05-06"]),
        ("আমি তিন সপ্তাহ আগে এসেছি।", &["তিন সপ্তাহ আগে 2023-04-17 2023-04-24"]),
        ("আমার জন্ম ১২ মে ১৯৯০।", &["১২ মে ১৯৯০ 1990-05-12 1990-05-13"]),
        ("দেখা হবে ২০শে মে।", &["২০শে মে 2023-05-20 2023-05-21"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_chinese() {
    check_statements(&[
        ("我昨天去了电影院。", &["昨天 2023-05-07 2023-05-08"]),
        ("上周五我们见面了。", &["上周五 2023-05-05 2023-05-06"]),
        ("我三周前搬家了。", &["三周前 2023-04-17 2023-04-24"]),
        ("上个月下雨了。", &["上个月 2023-04-01 2023-05-01"]),
        ("我出生于1990年5月12日。", &["1990年5月12日 1990-05-12 1990-05-13"]),
        ("约会是5月20日。", &["5月20日 2023-05-20 2023-05-21"]),
        ("去年我在上海。", &["去年 2022-01-01 2023-01-01"]),
    ]);
}

#[test]
fn dates_are_read_in_statements_in_japanese() {
    check_statements(&[
        ("昨日映画館に行きました。", &["昨日 2023-05-07 2023-05-08"]),
        ("先週の金曜日に会いました。", &["先週の金曜日 2023-05-05 2023-05-06"]),
        ("三週間前に引っ越しました。", &["三週間前 2023-04-17 2023-04-24"]),
        ("先月は雨でした。", &["先月 2023-04-01 2023-05-01"]),
        ("1990年5月12日に生まれました。", &["1990年5月12日 1990-05-12 1990-05-13"]),
        ("予約は5月20日です。", &["5月20日 2023-05-20 2023-05-21"]),
    ]);
}

/// Sentences without a date, many with a word that is a date in another sentence or language.
const WITHOUT_DATE: &[&str] = &[
    "I may go to the sea.",
    "Is Mars a planet?",
    "We sat at the mall at an angle.",
    "Who is in the fine art set?",
    "The die was cast, so what will it be here?",
    "He has an old map and a van.",
    "We ate a 2000 calorie mayo salad.",
    "How many mañana jokes did Hier tell me?",
    "Me gusta el mar.",
    "Nadamos en el mar.",
    "Por la mañana bebo café.",
    "Mayo es un apellido.",
    "¿Cuánto es dos y dos?",
    "Tengo una semana de vacaciones.",
    "Mars est une planète.",
    "La sonde est arrivée sur Mars.",
    "Nous sommes sept.",
    "Les sept nains sont ici.",
    "Sept personnes sont venues.",
    "Mai est un prénom.",
    "J'ai deux ans d'expérience.",
    "Was mache ich hier?",
    "Ich bin am Bahnhof.",
    "Guten Morgen, wie geht es dir?",
    "Am Morgen trinke ich Tee.",
    "Mai ist ein Name.",
    "August und Juli sind Namen.",
    "Die Woche hat sieben Tage.",
    "Hier ist das Meer.",
    "Eu não vou mais.",
    "O mar é azul.",
    "A segunda casa é minha.",
    "Maio é um nome.",
    "Uma semana tem sete dias.",
    "Sei sette volte qui.",
    "Il mare è blu.",
    "La prima casa è mia.",
    "Ho due anni di esperienza.",
    "Alla fine sono qui.",
    "Ik ben hier.",
    "Goede morgen, hoe is het?",
    "De week heeft zeven dagen.",
    "Мая пришла домой.",
    "Марта любит чай.",
    "В неделе семь дней.",
    "Май хороший месяц.",
    "أنا مارست الرياضة.",
    "الأسبوع سبعة أيام.",
    "عندي سيارة نيسان.",
    "कल क्या करना है?",
    "मैं कल गया था।",
    "हफ्ते में सात दिन होते हैं।",
    "मार्च करो।",
    "কাল কী করব?",
    "সপ্তাহে সাত দিন।",
    "মে আমার নাম।",
    "我上学了。",
    "每周上课两次。",
    "一个星期有七天。",
    "我一起去。",
    "生日快乐。",
    "周边有什么?",
    "日本に住んでいます。",
    "一週間は七日です。",
    "月が綺麗です。",
    "年を取りました。",
];

#[test]
fn sentences_without_a_date_have_none_in_any_language() {
    for sentence in WITHOUT_DATE {
        assert_eq!(times(sentence), [""; 0], "{sentence}");
        assert_eq!(mentions(sentence), [""; 0], "{sentence}");
    }
}

#[test]
fn questions_about_the_present_have_no_times_in_any_language() {
    for question in [
        "¿Qué hay de cenar hoy?",
        "Que faire aujourd'hui ?",
        "Was soll ich heute kochen?",
        "O que faço hoje?",
        "Che cosa faccio oggi?",
        "Что приготовить сегодня?",
        "ماذا أطبخ اليوم؟",
        "आज क्या पकाऊँ?",
        "আজ কী রান্না করব?",
        "今天吃什么?",
        "今日は何を食べますか?",
    ] {
        assert_eq!(times(question), [""; 0], "{question}");
    }
}

#[test]
fn complete_dates_are_read_in_texts_in_another_language() {
    for (question, expected) in [
        ("Who wrote the letter of 12 mai 2022?", "2022-05-12 2022-05-13"),
        ("What does the invoice of 3. Oktober 2022 say?", "2022-10-03 2022-10-04"),
        ("Was stand in der Mail vom 7 May 2022?", "2022-05-07 2022-05-08"),
        ("Was habe ich zu dem Termin last week notiert?", "2023-05-01 2023-05-08"),
        ("What did he mean by 昨天?", "2023-05-07 2023-05-08"),
    ] {
        assert_eq!(times(question), [expected], "{question}");
    }
    for question in ["Who said gestern and mañana to me in the film?", "What does en mayo mean?"] {
        assert_eq!(times(question), [""; 0], "{question}");
    }
}

/// Sentences with a number of days, a month and a weekday in one language.
struct Templates {
    language: Language,
    days_ago: &'static str,
    month: &'static str,
    last_weekday: &'static str,
}

const TEMPLATES: [Templates; 12] = [
    Templates {
        language: Language::Spanish,
        days_ago: "Vine hace {} días.",
        month: "Nací el 12 de {} de 2023.",
        last_weekday: "Vine el {} pasado.",
    },
    Templates {
        language: Language::French,
        days_ago: "Je suis venu il y a {} jours.",
        month: "Je suis né le 12 {} 2023.",
        last_weekday: "Je suis venu {} dernier.",
    },
    Templates {
        language: Language::German,
        days_ago: "Ich war vor {} Tagen da.",
        month: "Ich bin am 12. {} 2023 geboren.",
        last_weekday: "Ich war letzten {} da.",
    },
    Templates {
        language: Language::Portuguese,
        days_ago: "Eu vim há {} dias.",
        month: "Eu nasci em 12 de {} de 2023.",
        last_weekday: "Eu vim na {} passada.",
    },
    Templates {
        language: Language::Italian,
        days_ago: "Sono venuto {} giorni fa.",
        month: "Sono nato il 12 {} 2023.",
        last_weekday: "Sono venuto {} scorso.",
    },
    Templates {
        language: Language::Dutch,
        days_ago: "Ik was er {} dagen geleden.",
        month: "Ik was er op 12 {} 2023.",
        last_weekday: "Ik was er vorige {}.",
    },
    Templates {
        language: Language::Russian,
        days_ago: "Я приехал {} дней назад.",
        month: "Я родился 12 {} 2023 года.",
        last_weekday: "Я приехал в прошлую {}.",
    },
    Templates {
        language: Language::Arabic,
        days_ago: "وصلت قبل {} أيام.",
        month: "ولدت في ١٢ {} ٢٠٢٣.",
        last_weekday: "وصلت يوم {} الماضي.",
    },
    Templates {
        language: Language::Hindi,
        days_ago: "मैं {} दिन पहले आया।",
        month: "मैं १२ {} २०२३ को आया।",
        last_weekday: "मैं पिछले {} आया।",
    },
    Templates {
        language: Language::Bengali,
        days_ago: "আমি {} দিন আগে এসেছি।",
        month: "আমি ১২ {} ২০২৩ এসেছি।",
        last_weekday: "আমি গত {} এসেছি।",
    },
    Templates {
        language: Language::Chinese,
        days_ago: "我{}天前来了。",
        month: "我2023年{}12日来了。",
        last_weekday: "我上{}来了。",
    },
    Templates {
        language: Language::Japanese,
        days_ago: "私は{}日前に来ました。",
        month: "私は2023年{}12日に来ました。",
        last_weekday: "先週の{}に来ました。",
    },
];

/// Checks that a template names one day with each of some alternatives in its place.
fn check_template(template: &str, alternatives: &str, expected: Date) {
    for alternative in alternatives.split('|').filter(|alternative| !alternative.is_empty()) {
        let statement = template.replace("{}", alternative);
        let found = statement::find(&statement, TODAY);
        let days: Vec<Option<Date>> = found.iter().map(statement::DateMention::exact_day).collect();
        assert_eq!(days, [Some(expected)], "{statement}");
    }
}

#[test]
fn every_number_month_and_weekday_of_the_tables_is_read() {
    for table in TABLES {
        let templates = TEMPLATES.iter().find(|templates| templates.language == table.language).expect("templates");
        let is_numbered = table.months[0].is_empty();
        for index in 0..12_i8 {
            let place = usize::from(index.unsigned_abs());
            let days_ago = TODAY.checked_sub(jiff::Span::new().days(i64::from(index) + 1)).expect("a day");
            let number = if is_numbered { NUMERALS[place] } else { table.numbers[place] };
            check_template(templates.days_ago, number, days_ago);
            let date = jiff::civil::date(2023, index + 1, 12);
            let numbered = format!("{}月", NUMERALS[place]);
            let month = if is_numbered { numbered.as_str() } else { table.months[place] };
            check_template(templates.month, month, date);
            check_template(templates.month, table.short_months[place], date);
        }
        for (names, day) in table.weekdays.iter().zip(1..) {
            check_template(templates.last_weekday, names, jiff::civil::date(2023, 5, day));
        }
    }
}

#[test]
fn repeated_words_are_read_without_panic() {
    for text in ["昨天", "三天前2023年5月", "'", "अप्रैल ", "وو ", "vor dem ", "il y a ", "十"] {
        let _ = mentions(&text.repeat(5000));
        let _ = times(&text.repeat(5000));
    }
}
