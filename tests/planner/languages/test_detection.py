"""Short messages show their language."""

import pytest

from turnloom.models.runtime.settings import ROOT
from turnloom.planner.languages.catalogues import load_languages, read_catalogue

LANGUAGES = load_languages(ROOT / "prompts" / "languages")

MESSAGES = {
    "en": [
        *("Hello there", "Do you have a room for this weekend?", "two adults and a child", "How much is it?"),
        *("the second one", "What about Friday?", "cancel it", "when do I meet David?", "make it three nights"),
        *("plan a trip to kyoto in april", "whats on my calendar", "which of these is better", "too expensive"),
    ],
    "es": [
        *("Hola", "¿Tienen una habitación para este fin de semana?", "dos adultos y un niño", "¿Cuánto cuesta?"),
        *("la segunda", "¿Y el viernes?", "sí, por favor", "¿cuándo me reúno con David?", "que sean tres noches"),
        *("planea un viaje a Kioto en abril", "qué hay en mi agenda", "cuál de estos es mejor", "demasiado caro"),
    ],
    "de": [
        *("Guten Abend", "Haben Sie am Wochenende ein Zimmer frei?", "zwei Erwachsene und ein Kind", "Was kostet das?"),
        *("das zweite", "Und am Freitag?", "storniere es", "wann treffe ich David?", "lieber drei Nächte"),
        *("plane eine Reise nach Kyoto im April", "was steht in meinem Kalender", "welches davon ist besser"),
    ],
    "fr": [
        *("Bonjour", "Avez-vous une chambre ce week-end ?", "deux adultes et un enfant", "Ça coûte combien ?"),
        *("la deuxième", "Et vendredi ?", "oui merci", "quand est-ce que je vois David ?", "plutôt trois nuits"),
        *("organise un voyage à Kyoto en avril", "lequel est le mieux", "trop cher", "il y a un parking ?"),
    ],
    "he": [
        *("שלום", "יש לכם חדר לסוף השבוע?", "שני מבוגרים וילד", "כמה זה עולה?", "השני", "ומה עם יום שישי?"),
        *("תבטל", "מתי אני נפגש עם David?", "שלושה לילות", "תכנן טיול לקיוטו באפריל", "יקר מדי", "לא"),
    ],
    "ar": [
        *(
            "مرحبا",
            "هل لديكم غرفة لعطلة نهاية الأسبوع؟",
            "شخصان بالغان وطفل",
            "كم السعر؟",
            "الثاني",
            "وماذا عن يوم الجمعة؟",
        ),
        *("ألغِ الحجز", "متى سألتقي David؟", "ثلاث ليال", "خطط لرحلة إلى كيوتو في أبريل", "غال جدا", "لا"),
    ],
    "ja": [
        *("こんにちは", "今週末に空いている部屋はありますか", "大人2人と子供1人", "いくらですか", "金曜日はどうですか"),
        *("キャンセルして", "Davidといつ会いますか", "三泊にして", "4月に京都旅行を計画して", "高すぎる", "いいえ"),
    ],
    "it": [
        "Avete una camera per questo fine settimana?",
        "quanto costa?",
        "la seconda",
        "vorrei qualcosa di economico",
    ],
    "pt": ["Vocês têm um quarto para este fim de semana?", "quanto custa?", "obrigado, é só isso", "bom dia"],
    "nl": ["Heeft u een kamer voor dit weekend?", "wat kost het?", "de tweede", "bedankt, dat is alles"],
}


@pytest.mark.parametrize("tag", MESSAGES)
def test_a_message_is_recognised(tag: str) -> None:
    """A few words are enough, with a name in another script among them."""
    read = {message: LANGUAGES.language_of(message) for message in MESSAGES[tag]}

    assert read == dict.fromkeys(MESSAGES[tag], tag)


@pytest.mark.parametrize(
    "message",
    [
        *("ok", "2", "👍", "12-14 Dec", "https://example.org/x", "David Cohen", "054-1234567", "5/12", "no", ""),
        *("这个周末有房间吗", "Сколько стоит номер?", "이번 주말에 방 있나요", "برای آخر هفته اتاق دارید؟"),
    ],
)
def test_a_message_in_no_known_language_shows_none(message: str) -> None:
    """Neither names and numbers show a language, nor a word of two languages, nor a language without a catalogue."""
    assert LANGUAGES.language_of(message) is None


def test_a_new_language_takes_part() -> None:
    """Signs in a tenant's catalogue are enough to recognise its language. Words that two share count half."""
    more = LANGUAGES.under("sv", read_catalogue("sv", "common_words: har ni ett rum vad kostar det tack i"))

    assert more.language_of("Har ni ett rum i helgen?") == "sv"
    assert LANGUAGES.language_of("Har ni ett rum i helgen?") != "sv"
