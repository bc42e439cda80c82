//! "Ignore the previous instructions" in other languages.

use super::ThreatPattern;
use crate::finding::{ScanLevel, ThreatCategory};
use crate::fold::fold;

/// The pattern under which a phrase in any language is reported.
pub(super) const LANGUAGE_PATTERN: ThreatPattern = ThreatPattern {
    id: "ignore-previous-instructions",
    category: ThreatCategory::Override,
    level: ScanLevel::All,
    required_keywords: &[],
    forms: &[],
};

/// Gap between the parts of a phrase.
const PHRASE_GAP: &str = r"[^.!?\n]{0,40}?";

/// The stems that form the phrase in one language. They match in any order that
/// keeps the qualifier next to the object.
#[derive(Debug)]
pub(super) struct LanguageStems {
    verbs: &'static [&'static str],
    qualifiers: &'static [&'static str],
    objects: &'static [&'static str],
}

impl LanguageStems {
    /// Keywords required for the phrase to match.
    pub(super) fn required_keywords(&self) -> Vec<Vec<String>> {
        [self.verbs, self.objects, self.qualifiers].map(fold_stems).to_vec()
    }

    pub(super) fn forms(&self) -> String {
        let any = |stems| {
            format!(
                "(?:{})",
                fold_stems(stems).iter().map(|s| regex::escape(s)).collect::<Vec<_>>().join("|")
            )
        };
        let (verb, which, what) = (any(self.verbs), any(self.qualifiers), any(self.objects));
        let object = format!("(?:{which}{PHRASE_GAP}{what}|{what}{PHRASE_GAP}{which})");
        format!("{verb}{PHRASE_GAP}{object}|{object}{PHRASE_GAP}{verb}")
    }
}

fn fold_stems(stems: &[&str]) -> Vec<String> {
    stems.iter().map(|stem| fold(stem).text().to_owned()).collect()
}

pub(super) const LANGUAGE_STEMS: &[LanguageStems] = &[
    // German
    LanguageStems {
        verbs: &["ignorier", "vergiss ", "vergessen sie", "missachte", "beachte nicht"],
        qualifiers: &[
            "vorherig",
            "vorig",
            "bisherig",
            "früher",
            "obig",
            "vorangegangen",
            "vorangehend",
            "alle anweisungen",
        ],
        objects: &["anweisung", "instruktion", "befehl", "vorgaben"],
    },
    // French
    LanguageStems {
        verbs: &[
            "ignore",
            "oublie",
            "ne tiens pas compte",
            "ne tenez pas compte",
            "fais abstraction",
            "faites abstraction",
        ],
        qualifiers: &[
            "précédent",
            "antérieur",
            "ci-dessus",
            "toutes les instructions",
            "toutes tes",
            "toutes vos",
        ],
        objects: &["instructions", "consignes", "directives", "règles"],
    },
    // Spanish
    LanguageStems {
        verbs: &[
            "ignora",
            "ignore ",
            "olvida",
            "olvide",
            "haz caso omiso",
            "haga caso omiso",
            "no sigas",
        ],
        qualifiers: &["anterior", "previa", "previo", "todas las instrucciones", "de arriba"],
        objects: &["instruccion", "indicacion", "órdenes", "directrices", "reglas"],
    },
    // Italian
    LanguageStems {
        verbs: &["ignora", "ignorate", "dimentica", "trascura", "non seguire"],
        qualifiers: &["precedent", "anterior", "di cui sopra", "tutte le istruzioni"],
        objects: &["istruzion", "indicazion", "direttiv", "regole"],
    },
    // Portuguese
    LanguageStems {
        verbs: &["ignore", "ignora", "esqueça", "esquece", "desconsidere", "desconsidera"],
        qualifiers: &["anterior", "prévia", "acima", "todas as instruções"],
        objects: &["instruç", "instruções", "orientaç", "diretrizes", "regras"],
    },
    // Dutch
    LanguageStems {
        verbs: &["negeer", "vergeet", "sla geen acht"],
        qualifiers: &["vorige", "voorgaande", "eerdere", "bovenstaande", "alle instructies"],
        objects: &["instructie", "opdracht", "aanwijzing", "richtlijn"],
    },
    // Russian
    LanguageStems {
        verbs: &["игнорируй", "проигнорируй", "забудь", "не обращай внимания", "не следуй"],
        qualifiers: &[
            "предыдущ",
            "прежни",
            "вышеуказанн",
            "все инструкции",
            "предшествующ",
            "ранее данн",
        ],
        objects: &["инструкци", "указани", "команды", "правила"],
    },
    // Chinese, both scripts
    LanguageStems {
        verbs: &["忽略", "无视", "無視", "忘记", "忘記", "不要理会", "不要遵守"],
        qualifiers: &["之前", "以前", "先前", "上述", "以上", "上面", "前面", "所有"],
        objects: &["指令", "指示", "提示词", "命令", "说明", "說明", "规则"],
    },
    // Japanese
    LanguageStems {
        verbs: &["無視", "忘れ", "従わない"],
        qualifiers: &["以前", "前の", "これまで", "上記", "先ほど", "すべて", "全て"],
        objects: &["指示", "命令", "プロンプト", "ルール"],
    },
    // Korean
    LanguageStems {
        verbs: &["무시", "잊어", "따르지"],
        qualifiers: &["이전", "앞의", "위의", "모든", "지금까지"],
        objects: &["지시", "명령", "지침", "프롬프트"],
    },
    // Arabic
    LanguageStems {
        verbs: &["تجاهل", "انس ", "إنس", "لا تتبع"],
        qualifiers: &["السابقة", "أعلاه", "جميع التعليمات", "كل التعليمات"],
        objects: &["التعليمات", "الأوامر", "الإرشادات", "تعليمات"],
    },
    // Hindi
    LanguageStems {
        verbs: &["अनदेखा", "नज़रअंदाज़", "नजरअंदाज", "उपेक्षा", "भूल जा"],
        qualifiers: &["पिछले", "पिछली", "पूर्व", "पहले के", "सभी", "उपरोक्त"],
        objects: &["निर्देश", "आदेश", "हिदायत"],
    },
    // Turkish
    LanguageStems {
        verbs: &["yok say", "görmezden gel", "unut", "dikkate alma", "göz ardı et"],
        qualifiers: &["önceki", "yukarıdaki", "daha önce", "tüm talimat"],
        objects: &["talimat", "yönerge", "komut", "kurallar"],
    },
    // Greek
    LanguageStems {
        verbs: &["αγνόησε", "αγνοήσ", "αγνοείς", "ξέχασε", "ξεχάστε", "παράβλεψε", "μην ακολουθ"],
        qualifiers: &["προηγούμεν", "παραπάνω", "προγενέστερ", "όλες τις οδηγίες", "ως τώρα"],
        objects: &["οδηγί", "εντολ", "κανόνες", "υποδείξ"],
    },
    // Hebrew
    LanguageStems {
        verbs: &["התעלם", "התעלמי", "התעלמו", "תתעלם", "להתעלם", "שכח", "אל תציית"],
        qualifiers: &["הקודמות", "הקודמים", "הקודמת", "לעיל", "כל ההוראות", "הנ\"ל"],
        objects: &["הוראות", "ההנחיות", "הנחיות", "פקודות", "הפקודות", "הכללים"],
    },
    // Thai
    LanguageStems {
        verbs: &["เพิกเฉย", "ละเว้น", "ไม่ต้องสนใจ", "อย่าสนใจ", "ไม่สนใจ", "ละเลย", "ลืม", "มองข้าม"],
        qualifiers: &["ก่อนหน้า", "ทั้งหมด", "ที่ผ่านมา", "ข้างต้น", "ก่อนนี้"],
        objects: &["คำสั่ง", "คำแนะนำ", "คำชี้แจง", "กฎ"],
    },
    // Vietnamese
    LanguageStems {
        verbs: &["bỏ qua", "phớt lờ", "lờ đi", "quên", "đừng làm theo", "không làm theo"],
        qualifiers: &["trước", "ở trên", "phía trên", "tất cả các hướng dẫn", "đã cho"],
        objects: &["hướng dẫn", "chỉ dẫn", "chỉ thị", "mệnh lệnh", "quy tắc"],
    },
    // Polish
    LanguageStems {
        verbs: &["zignoruj", "ignoruj", "zapomnij", "pomiń"],
        qualifiers: &["poprzedni", "wcześniejsz", "powyższ", "wszystkie instrukcje"],
        objects: &["instrukcj", "polece", "wytyczn", "zasady"],
    },
];
