//! Words that ask for events in general: what happened, what was done, said, announced or planned.

/// The words of one language, separated by spaces. They say nothing about what happened.
pub(super) struct EventWords {
    /// The code of the language.
    pub(super) code: &'static str,
    /// Words about any time.
    pub(super) words: &'static str,
    /// Words about what is to come.
    pub(super) ahead: &'static str,
}

pub(super) const EVENT_WORDS: &[EventWords] = &[
    EventWords {
        code: "en",
        words: "happen happens happened happening occur occurs occurred occurring go goes went going take takes took \
            taken place did do does doing done get got up to announce announces announced announcement announcements \
            news new event events anything everything something thing things else all tell told say said talk talked \
            mention mentioned note noted write wrote remember recall know list show give us summary summarise summarize \
            recap overview day days time morning afternoon evening night last around about important notable special \
            please hey remind ask asked experience experienced see saw was were been over course \
            big good bad highlight highlights main",
        ahead: "come comes coming plan plans planned planning schedule scheduled upcoming ahead will next expect \
            expected",
    },
    EventWords {
        code: "de",
        words: "passiert passierte passieren geschah geschehen geschieht los ereignet ereignete stattgefunden fand statt gab \
            gibt gemacht machte machten mache machen tat taten getan unternommen war waren gewesen ist angekündigt \
            kündigte neues neue neuigkeiten nachrichten ereignisse erzählt erzählte gesagt sagte besprochen gesprochen \
            erwähnt notiert geschrieben alles etwas sonst zeig zeige nenne liste zusammenfassung überblick tag tage \
            tagen zeit morgen vormittag nachmittag abend abends nacht rund ungefähr etwa wichtig wichtiges besonderes \
            bitte erlebt erlebte erlebten große großen tolles gutes",
        ahead: "steht stehen ansteht anstehen bevor geplant plane planen plant vor vorhaben kommt kommen wird werden",
    },
    EventWords {
        code: "fr",
        words: "passé passe passer arrivé arrive arrivée fait fais faisons faire faisait avons avez ont été est \
            produit eu lieu annoncé annoncée annonce annonces nouvelles nouveau neuf quoi événements dit raconté parlé \
            mentionné noté écrit qu tout chose choses autre autres liste montre donne résumé aperçu jour jours journée \
            temps matin midi soir soirée nuit autour environ vers important spécial stp vécu vécue \
            grande grand bonne",
        ahead: "prévu prévue prévus prévues prévoit va vais allons vont vient viennent plans programme attend",
    },
    EventWords {
        code: "es",
        words: "pasó pasa pasado pasar ocurrió ocurre ocurrido sucedió sucede sucedido hizo hice hicimos hicieron hiciste \
            hecho hacer haciendo hubo hay fue era anunció anunciaron anunciado anuncio anuncios noticias novedades nuevo \
            nueva eventos dijo dije dijimos dicho contado conté contó hablamos hablado mencioné mencionó escribí todo \
            cosa cosas más lista muestra dame resumen día días tiempo mañana tarde noche alrededor importante especial \
            vivimos vivido gran grande buena",
        ahead: "viene vienen previsto prevista planes plan planeado programado va voy vamos espera",
    },
    EventWords {
        code: "pt",
        words: "aconteceu acontece acontecido acontecer passou passa passado ocorreu houve há foi era fiz fez fizemos \
            fizeram feito fazer anunciou anunciaram anunciado anunciada anúncio anúncios notícias novidades novo nova \
            eventos disse dissemos dito contou contei falámos falamos mencionou escrevi tudo coisa coisas mais lista \
            mostra resumo dia dias tempo manhã tarde noite volta importante especial vivemos vivido grande boa",
        ahead: "vem vêm previsto prevista planos plano planeado planejado marcado vai vou vamos espera",
    },
    EventWords {
        code: "it",
        words: "successo succede accaduto accade avvenuto avviene capitato fatto fece facemmo fanno fare stato stata c'è era \
            erano annunciato annunciata annuncio annunci notizie novità nuovo nuova eventi detto dissi raccontato \
            parlato menzionato scritto tutto cosa cose altro elenco mostra riassunto giorno giorni tempo mattina mattino \
            pomeriggio sera notte intorno circa importante speciale vissuto combinato grande bella bello",
        ahead: "viene vengono previsto prevista piani programma programmato va vado andiamo aspetta",
    },
    EventWords {
        code: "nl",
        words: "gebeurd gebeurde gebeurt gebeuren gedaan deed deden doen hand was waren geweest is er aangekondigd nieuws \
            nieuw nieuwe gebeurtenissen gezegd zei verteld vertelde besproken gesproken genoemd genoteerd geschreven \
            alles iets anders lijst toon geef samenvatting overzicht dag dagen tijd ochtend middag avond nacht rond \
            ongeveer belangrijk bijzonder bijzonders plaats meegemaakt beleefd beleefden \
            ondernomen grote groot goed leuks",
        ahead: "gepland plan plannen staat staan komt komen gaat gaan zal verwacht",
    },
    EventWords {
        code: "zh",
        words: "发生 發生 事 事情 事件 做 干 说 說 公布 宣布 宣告 消息 新闻 新聞 新 告诉 告訴 提到 全部 所有 列出 总结 總結 天 时间 時間 \
            早上 上午 下午 晚上 左右 大约 重要",
        ahead: "计划 計劃 安排 打算 将 將",
    },
    EventWords {
        code: "ja",
        words: "起き 起きました 起こり 起こった 何が あり ありました ありましたか あった あっ 何か どんな どのような 出来事 事 こと 発表 \
            お知らせ ニュース 新しい 話し 話した 言い 言った 書いた 全部 すべて 教えて まとめ 日 時間 朝 午前 午後 夜 頃 ごろ \
            やった やり 過ごし",
        ahead: "予定 計画 つもり",
    },
    EventWords {
        code: "hi",
        words: "हुआ हुई हुए होता किया की करते घोषणा खबर समाचार नया नई बताया कहा सब कुछ दिन समय सुबह शाम रात घटना",
        ahead: "योजना होगा होने वाला",
    },
    EventWords {
        code: "ar",
        words: "حدث حصل جرى فعل فعلت فعلنا أعلن إعلان أخبار جديد قلت قال أحداث كل شيء يوم وقت صباح مساء ليل تم",
        ahead: "خطط مخطط سيحدث قادم",
    },
    EventWords {
        code: "ru",
        words: "произошло случилось было были был сделал сделала сделали делал делала делали объявили объявлено объявлял \
            новости новое новый события событие сказал сказала говорили рассказал рассказала упоминал записал все всё \
            день дни время утром днем вечером ночью около примерно важного нового",
        ahead: "планы план запланировано планируется будет ожидается предстоит",
    },
];
