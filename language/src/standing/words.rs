//! The words of standing facts and of requests, in English, German, French, Spanish, Portuguese, Italian and Dutch, and
//! some in Chinese and Japanese. Entries are separated by spaces. In a phrase, `_` stands for a space,
//! and `*` at the end of an entry for any ending.

use super::{Topic, Topics};

/// Words of one topic.
pub(super) struct TopicWords {
    pub(super) topic: Topic,
    pub(super) words: &'static str,
}

/// A condition of a person, and the topics of the requests that it matters to.
pub(super) struct Condition {
    pub(super) topics: Topics,
    pub(super) words: &'static str,
}

pub(super) const TOPICS: &[TopicWords] = &[
    TopicWords {
        topic: Topic::Food,
        words: "eat eating food* meal* dinner* lunch* breakfast* supper brunch* snack* recipe* cook cooking cooked bake \
            baking menu* restaurant* cafe* coffee* latte* tea drink drinks cocktail* smoothie* shake shakes dessert* \
            cake* pasta pizza* soup* salad* picnic* barbecue* bbq takeaway* takeout groceries grocery ingredient* dish \
            dishes cuisine buffet catering platter* sandwich* wine beer juice chocolate* hungry starving starter* bakery \
            essen mahlzeit* abendessen mittagessen fruhstuck* rezept* kochen koche backen menu getrank* trinken kuchen \
            torte* nachtisch* vesper* brotzeit* imbiss* speise* zutat* salat* suppe* nudel* kaffee wein bier hunger hungrig* \
            gasthof* gaststatte* backerei* frisst \
            manger repas diner dejeuner* recette* cuisin* gouter* gateau* boisson* boire plat plats apero* pique_nique faim traiteur* boulangerie* \
            comer comida* cena cenar cenas almuerzo* almorzar desayun* receta* cocin* postre* tarta* bebida* beber \
            plato* merienda* tapas hambre parrilla* asado* panaderia* \
            jantar* almoco* receita* cozinh* sobremesa* bolo bolos prato* lanche* fome petisco* padaria* \
            mangiare cibo cene pranzo colazione ricetta* cucin* dolci torta* bevanda* bere ristorant* piatto piatti \
            merenda* spuntino* fame trattori* pizzeri* gelat* \
            eten maaltijd* avondeten ontbijt* recepten koken bakken toetje* taart* drank* drinken gerecht* hapje* honger bakker* \
            吃 饭 餐 做菜 菜单 喝 食べ 料理 ご飯 ランチ ディナー レシピ 飲み",
    },
    TopicWords {
        topic: Topic::Health,
        words: "pain pains painful hurt hurts hurting ache aches aching sore throat fever* cough* headache* migraine* \
            painkiller* medicine* medication* tablets pill pills ibuprofen paracetamol aspirin antibiotic* doctor* gp \
            prescri* pharmac* dose dosage swollen inflam* rash symptom* dentist* clinic hospital surgery ointment* \
            schmerz* arzt arzte arztin apothek* medikament* tablette* salbe* fieber husten entzund* geschwollen zahnarzt* \
            douleur* medecin* medicament* fievre toux ordonnance* comprime* gonfl* dentiste* \
            dolor dolores duele medico medica farmacia* fiebre tos pastilla* hinchad* dentista* \
            dor dores remedio* febre tosse comprimid* inchad* \
            dolore dolori medicin* febbre pastigli* gonfi* \
            pijn* arts artsen apotheek medicijn* koorts hoest* pillen dokter* tandarts* \
            疼 痛 药 医生 发烧 薬 医者 病院",
    },
    TopicWords {
        topic: Topic::Writing,
        words: "write writing wrote draft* wording reword* rewrite* email* mail letter* message* note notes text texts post \
            posts article* essay* poem* card cards notice* invitation* summar* translat* proofread* list lists chart* \
            table* slide slides presentation* explain* describe* reply replies caption* speech story stories \
            announcement* paragraph* sentence* emoji* bullet* \
            schreib* entwirf* entwerf* formulier* brief briefe nachricht* aushang* einladung* zusammenfass* ubersetz* \
            erklar* rede liste* \
            ecri* redig* lettre* texte* resume* tradui* expliqu* annonce* \
            escrib* redact* carta cartas mensaje* texto* invitacion* resum* traduc* explica* lista listas parrafo* \
            escrev* mensagem mensagens convite* traduz* \
            scriv* lettera lettere messaggi* testo testi invito inviti riassum* spiega* elenco elenchi \
            schrijf* opstel* brieven bericht* tekst* uitnodiging* samenvat* vertaal* uitleg* lijst* \
            写 翻译 总结 解释 書い 書く 翻訳 まとめ 説明 メール",
    },
    TopicWords {
        topic: Topic::Appointments,
        words: "calendar* schedul* appointment* meeting* slot slots lesson* reschedul* deadline* booking* \
            timetable* available availability which_day what_day what_time which_time book_me \
            welchen_tag welcher_tag um_wie_viel_uhr quel_jour quelle_heure que_dia a_que_hora che_giorno a_che_ora welke_dag \
            hoe_laat marque* marca* termin* kalender* besprechung* stundenplan* \
            rendez_vous agenda* calendrier* reunion* horaire* \
            cita citas calendario* horario* \
            consulta* reuniao reunioes marcar \
            appuntament* riunion* orario orari \
            afspraak afspraken vergadering* rooster* \
            预约 日程 会议 予約 会議",
    },
    TopicWords {
        topic: Topic::Travel,
        words: "travel* trip trips fly flying flight* plane planes train trains hotel* airport* holiday* vacation* \
            journey* \
            reise* flug fluge flieg* zug urlaub* \
            voyage* avion* vacances \
            viaj* vuelo* tren trenes vacaciones \
            viage* voo voos aviao comboio* ferias \
            viagg* volo voli aereo aerei treno treni vacanz* \
            reis reizen vlucht* vlieg* trein* vakantie* \
            旅行 飞机 火车 飛行機 電車",
    },
    TopicWords {
        topic: Topic::Software,
        words: "deploy* commit commits code coding function* branch* refactor* database* server* script scripts production \
            staging release* bug bugs api apis migration* repository pull_request endpoint* handler* pipeline* lint*",
    },
];

pub(super) const CONDITIONS: &[Condition] = &[
    Condition {
        topics: Topics::of(&[Topic::Food, Topic::Health]),
        words: "allerg* alergi* alergic* intoleran* intolleran* unvertraglich* anaphyla* diabet* アレルギー 过敏 過敏 аллерг*",
    },
    Condition {
        topics: Topics::of(&[Topic::Food]),
        words: "vegetarian* vegan vegans veganism veggie pescatarian* vegetari* vegano vegana vegane veganer coeliac* celiac* \
            zoliakie celiaqu* gluten* lactose laktose* lattosio lactosa halal kosher koscher caffeine koffein* non_veg don't_eat doesn't_eat can't_eat cannot_eat don't_drink doesn't_drink no_meat veganist* shellfish nut_allergy \
            zuckerkrank* vertrage_kein* vertragt_kein* keine_milch no_puedo_comer no_tolero nao_posso_comer nao_posso_com \
            non_posso_mangiare je_ne_supporte_pas ne_supporte_pas kan_niet_tegen mag_geen \
            esse_kein* isst_kein* esse_nicht trinke_kein* ne_mange_pas ne_mange_plus ne_bois_pas no_como no_come no_bebo \
            nao_como nao_come nao_bebo non_mangio non_mangia non_bevo eet_geen drink_geen 素食 吃素 菜食 ベジタリアン",
    },
    Condition {
        topics: Topics::of(&[Topic::Health]),
        words: "ulcer* asthma* asma epilep* pregnan* schwanger* suis_enceinte est_enceinte embarazad* gravida incinta zwanger pacemaker \
            blood_pressure blood_thinner* kidney* thyroid* schilddruse* mcg insulin* penicillin* penicilin* penicilina \
            ibuprofeno ibuprofen heart_condition 怀孕 高血压 妊娠",
    },
    Condition {
        topics: Topics::of(&[Topic::Writing]),
        words: "dyslex* legasthen* dislex* dislessic* colour_blind color_blind colourblind colorblind farbenblind daltoni* \
            kleurenblind am_deaf i'm_deaf is_deaf are_deaf hard_of_hearing schwerhorig* malentendant* 色盲 色覚",
    },
    Condition {
        topics: Topics::of(&[Topic::Travel]),
        words: "wheelchair* rollstuhl* fauteuil_roulant silla_de_ruedas cadeira_de_rodas sedia_a_rotelle rolstoel* \
            fear_of_flying afraid_of_flying don't_fly flugangst",
    },
];

/// Words that make a statement a rule for the future.
pub(super) const RULES: &str = "from_now_on in_future in_the_future ground_rule* house_rule* the_rule new_rule rule_is \
    please_no please_never please_always please_don't don't_ever not_even always_use never_use must_never \
    must_always first_rule never_suggest never_book never_schedule never_send never_call never_ring never_put never_give \
    don't_suggest don't_book don't_schedule don't_put \
    ab_sofort ab_jetzt kunftig in_zukunft bitte_kein* bitte_nie bitte_immer bitte_nicht bitte_merken merk_dir neue_regel hausregel* \
    grundregel* leg_mir_kein* gib_mir_kein* schlag_mir_kein* nie_vor nie_nach \
    desormais dorenavant a_l'avenir nouvelle_regle une_regle la_regle jamais_de toujours_en ne_me_propose ne_me_mets jamais_avant jamais_apres \
    a_partir_de_ahora de_ahora_en_adelante norma_de_la_casa nueva_regla siempre_en por_favor_no no_me_pongas no_me_agendes no_me_recomiendes nunca_antes nunca_despues \
    a_partir_de_agora daqui_em_diante nova_regra por_favor_nao nao_me_marque* nao_me_sugira* nunca_antes nunca_depois \
    d'ora_in_poi da_ora_in_poi nuova_regola per_favore_non non_propormi non_mettermi mai_prima mai_dopo \
    vanaf_nu voortaan regel_is liever_geen plan_nooit plan_geen nooit_voor nooit_na \
    从现在起 以后不要 これから 気をつけて";

/// Words with which a sentence begins that is a rule.
pub(super) const RULE_BEGINNINGS: &str = "always never please_no no_more don't_ever immer nie niemals toujours jamais siempre nunca \
    sempre altijd nooit";

/// Beginnings of sentences that look like a rule and are none.
pub(super) const NO_RULES: &str = "never_mind never_heard never_been never_seen always_nice always_good always_fun \
    always_a nunca_fui nunca_he nunca_fui nie_wieder nie_gehort nie_gesehen jamais_vu nooit_meer nooit_gezien";

/// Phrases that deny a condition, or say that it is over or somebody's former one.
pub(super) const NO_CONDITIONS: &str = "not_allergic isn't_allergic aren't_allergic no_allerg* don't_have_any_allerg* not_vegetarian \
    not_vegan not_a_vegetarian not_a_vegan used_to_be_a_veg* used_to_be_veg* used_to_be_allergic was_a_vegetarian was_a_vegan \
    was_vegetarian was_vegan no_longer_veg* no_longer_allergic isn't_vegetarian isn't_vegan \
    keine_allergie* nicht_allergisch nicht_vegetarisch nicht_vegan nicht_mehr_veg* keine_vegetarierin kein_vegetarier \
    pas_allergique pas_d'allergie* plus_veg* pas_veg* aucune_allergie* \
    no_soy_alergic* sin_alergia* ya_no_soy_veg* no_soy_veg* ninguna_alergia \
    nao_sou_alergic* sem_alergia* ja_nao_sou_veg* nao_sou_veg* nenhuma_alergia \
    non_sono_allergic* nessuna_allergia non_sono_piu_veg* non_sono_veg* \
    niet_allergisch geen_allergie* niet_meer_veg* geen_vegetari*";

/// Verbs with which a request begins.
pub(super) const REQUEST_BEGINNINGS: &str = "suggest recommend plan make write draft give_me give_us get_me find choose pick order \
    book prepare put set_out list show_me explain help check translate proofread summarise summarize create design build \
    add run push deploy tell_me need looking_for cook any_ideas remind \
    schlag empfiehl plane plan mach schreib* entwirf* gib such find stell* bestell* erklar* hilf koch* zeig* nenn* \
    suggere* propose* recommande* prepare* fais ecris redige* donne* trouve* choisis explique* aide* des_idees \
    sugiere* recomienda* planea prepara* haz escribe* redacta* dame busca* elige explica* ayuda* dime ideas \
    sugere* recomenda* planeia faz escreve* da_me procura* escolhe* ajuda* diz_me ideias \
    suggerisci consiglia* pianifica fai scrivi* dammi trova* scegli spiega* aiuta* dimmi idee \
    stel_voor raad_aan maak schrijf* geef zoek kies leg_uit help ideeen \
    推荐 建议 帮我 请 写 おすすめ 教えて";

/// Phrases that ask for advice or for work, wherever they stand.
pub(super) const REQUEST_PHRASES: &str = "can_you could_you would_you will_you please any_ideas what_should what_can how_should \
    where_should which_should should_i can_i how_do_i how_can_i do_you_suggest do_you_recommend would_you_suggest \
    would_you_recommend what_would_you any_suggestion* any_tips a_suggestion an_idea what_could_i where_could_i \
    kannst_du konntest_du konnen_sie bitte was_soll was_kann was_konnte was_muss wo_kann wo_konnte wie_kann soll_ich \
    kann_ich konnte_ich empfiehlst_du ratst_du schlagst_du wurdest_du einen_vorschlag eine_idee einen_tipp ideen tipps \
    brauche_eine brauche_einen brauche_ein \
    peux_tu pourrais_tu pouvez_vous pourriez_vous s'il_te_plait s'il_vous_plait que_dois qu'est_ce_que_je_peux je_peux \
    je_pourrais tu_me_conseilles tu_me_proposes tu_proposes tu_conseilles vous_me_conseillez une_idee des_idees idee_de \
    une_suggestion un_conseil il_me_faut \
    puedes podrias podes por_favor que_puedo que_debo como_puedo que_podria que_me_tomo me_recomiendas me_recomendas \
    recomendame me_sugieres me_sugeris sugerime me_aconsejas alguna_idea una_idea algun_consejo tirame necesito_un \
    necesito_una \
    poderias poderia pode_sugerir que_posso o_que_devo como_posso me_sugere* me_recomenda* me_aconselha* me_propoe* \
    alguma_ideia uma_ideia uma_sugestao preciso_de preciso_duma preciso_dum \
    puoi potresti per_favore cosa_posso cosa_potrei cosa_devo come_posso mi_consigli mi_suggerisci mi_proponi \
    qualche_idea un'idea un_consiglio mi_serve \
    kun_je zou_je zou_ik alsjeblieft wat_kan wat_moet hoe_kan raad_je stel_je adviseer_je weet_jij een_idee een_tip \
    tips suggesties \
    怎么 帮我 ください 作って 書いて 選んで 推荐";

/// Words for what a request asks for, which make a request of a question that begins like one about the past: "hast du einen
/// Vorschlag?".
pub(super) const ASKED_FOR: &str = "einen_vorschlag vorschlage eine_idee ideen einen_tipp tipps une_idee des_idees une_suggestion \
    un_conseil alguna_idea una_idea algun_consejo alguma_ideia uma_sugestao qualche_idea un'idea un_consiglio een_idee \
    ideeen een_tip suggesties any_ideas any_tips any_suggestion*";

/// Phrases of questions about what was said or done, which are no requests.
pub(super) const RECALLING: &str = "did_you did_i did_we did_she did_he did_they do_you_remember you_told you_said i_told i_said \
    you_recommended you_suggested was_it remind_me_what remind_me_when remind_me_who remind_me_which remind_me_how \
    remind_me_where tell_me_what_we tell_me_what_i tell_me_where_we tell_me_where_i tell_me_when_we tell_me_when_i \
    tell_me_who tell_me_how_the we_had i_had we_ate i_ate we_went i_saved we_saved what_was where_was who_was which_was \
    how_was what_did where_did when_did who_did how_did what_were where_were who_came came_to \
    wie_hieß wie_hießen weißt_du_noch wer_war wo_war wann_war was_war was_gab was_es was_hat wer_hat was_haben was_habe \
    s'appelait s'appelaient c'etait_quoi qu'est-ce_qu'on_a qu'avons_nous ce_que_nous_avons ce_qu'on_a \
    se_llamaba se_llamaban que_comimos que_hicimos que_dijo donde_fue cuando_fue quien_era \
    se_chamava se_chamavam que_comemos o_que_disse onde_foi quando_foi quem_era \
    si_chiamava si_chiamavano cosa_ha cosa_abbiamo cosa_ho che_cosa_ha dove_siamo_stati dov'era chi_era \
    heette heetten wat_was waar_was wie_was wat_heeft wat_hebben \
    hast_du habe_ich hab_ich haben_wir hattest_du weisst_du_noch as_tu ai_je avons_nous m'as_tu tu_te_souviens \
    dijiste recomendaste te_dije recuerdas disseste recomendaste te_disse lembras hai_detto ho_detto abbiamo ricordi \
    heb_je heb_ik hebben_we weet_je_nog";
