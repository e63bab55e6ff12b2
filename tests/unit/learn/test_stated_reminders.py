"""When a request for a reminder, a note or a model's answer says that a fact is due."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gaia_memory.backend.answers import parse_extraction
from gaia_memory.learn.stated_reminders import read_appointment, read_reminder, take_due_date

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 24, 9, tzinfo=UTC)
"""Tuesday, ten o'clock in Berlin."""

REQUESTS = [
    ("Remind me on Friday to call Anna.", "2026-11-27", None),
    ("Please remind me tomorrow at 9 of my dentist", "2026-11-25 09:00", None),
    ("On Friday remind me to call my mom", "2026-11-27", None),
    ("remind me in 10 minutes to take out the pizza", "2026-11-24 10:10", None),
    ("Remind me tonight to call Bob", "2026-11-24 18:00", None),
    ("remind me this week to pay", "2026-11-24", None),
    ("Can you remind me every Monday at 9 to put out the bins?", "2026-11-30 09:00", "weekly"),
    ("remind me every weekday at 8:30 to stretch", "2026-11-25 08:30", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
    ("remind me in 2 months to renew it", "2027-01-24", None),
    ("remind me in February 2027 to pay", "2027-02-01", None),
    ("remind me daily at 9 to breathe", "2026-11-25 09:00", "daily"),
    ("remind me on the 31st of every month to pay rent", "2026-12-31", "monthly"),
    ("Erinner mich morgen um 9 an den Zahnarzt", "2026-11-25 09:00", None),
    ("Erinnere mich jeden Montag daran, den Müll rauszubringen", "2026-11-30", "weekly"),
    ("remind me every 4 weeks, next on Wednesday, to ring Mum", "2026-11-25", "FREQ=WEEKLY;INTERVAL=4"),
    ("remind me every 4 weeks, next on 2 December at 9, to ring", "2026-12-02 09:00", "FREQ=WEEKLY;INTERVAL=4"),
    ("remind me every 4 weeks starting Wednesday to ring Mum", "2026-11-25", "FREQ=WEEKLY;INTERVAL=4"),
    ("remind me every month starting on 5 January to pay rent", "2027-01-05", "monthly"),
    ("remind me every Monday at 9 from 3 December to rest", "2026-12-07 09:00", "weekly"),
    ("remind me every Monday to prepare the talk on Friday", "2026-11-30", "weekly"),
    ("Erinnere mich alle 2 Wochen, ab Freitag, an den Müll", "2026-11-27", "FREQ=WEEKLY;INTERVAL=2"),
    ("remind me Monday week to ring the council", "2026-12-07", None),
    ("remind me Friday fortnight at 9 to ring the council", "2026-12-11 09:00", None),
    ("remind me a week on Monday to ring the council", "2026-12-07", None),
    ("remind me in a fortnight to chase the trip forms", "2026-12-08", None),
    ("remind me every fortnight on Thursday to clean", "2026-11-26", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH"),
    ("remind me at half past four to collect the tablets", "2026-11-24 16:30", None),
    ("remind me at a quarter to five to collect the tablets", "2026-11-24 16:45", None),
    ("remind me at quarter to one to have lunch", "2026-11-24 12:45", None),
    ("remind me at ten to seven to get up", "2026-11-25 06:50", None),
    ("remind me at half past four am to get up", "2026-11-25 04:30", None),
    ("remind me at half past four in the morning to get up", "2026-11-25 04:30", None),
    ("Rappelle-moi vendredi à 9h d'appeler ma mère", "2026-11-27 09:00", None),
    ("Recuérdame el viernes a las 9 llamar a mi madre", "2026-11-27 09:00", None),
]
NO_REQUESTS = [
    "Remind me to breathe", "Don't remind me on Friday", "I don't want to be reminded on Friday of Anna",
    "Remind me every hour to drink", "I will call Anna on Friday", "Ich möchte nicht am Freitag daran erinnert werden",
    "Remind me on February 30 to pay", "Erinnere mich am 30. Februar an die Miete",
]  # fmt: skip


def described(due):
    """Return a due date in local time, a day without its time."""
    if "due_at" not in due:
        return None, None
    local = due["due_at"].astimezone(BERLIN)
    return local.strftime("%Y-%m-%d" if due["due_all_day"] else "%Y-%m-%d %H:%M"), due["every"]


@pytest.mark.parametrize(("text", "due_at", "every"), REQUESTS)
def test_a_request_for_a_reminder_says_when_it_is_due(text, due_at, every):
    """In the person's own words."""
    assert described(read_reminder(text, NOW, BERLIN)) == (due_at, every)
    assert read_reminder(text, NOW, BERLIN)["due_zone"] == "Europe/Berlin"


@pytest.mark.parametrize("text", NO_REQUESTS)
def test_what_asks_for_no_reminder_at_a_time_is_not_due(text):
    """Neither a wish not to be reminded, nor a plan, nor what comes back more often than daily."""
    assert read_reminder(text, NOW, BERLIN) == {}


@pytest.mark.parametrize(
    ("note", "due_at"),
    [
        ("dentist on Friday at 9", "2026-11-27 09:00"),
        ("Meeting tomorrow 14:00", "2026-11-25 14:00"),
        ("call Bob 27 March 2027 at 10:30", "2027-03-27 10:30"),
        ("remind me on Friday to call Anna", "2026-11-27"),
        ("dentist on Friday", None),
        ("I start work at 9", None),
        ("yoga every Monday at 9", None),
        ("I work until 5 pm tomorrow", None),
        ("I was at the dentist yesterday at 9", None),
        ("Anna's visa expires in June 2027", None),
    ],
)
def test_a_note_with_one_day_and_time_to_come_is_due_then(note, due_at):
    """A habit, an end, the past and a bare day are only remembered."""
    assert described(read_appointment(note, NOW, BERLIN))[0] == due_at


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"due_at": "2026-11-27T09:00", "every": "weekly"}, ("2026-11-27 09:00", "weekly")),
        ({"due_at": "2026-11-27"}, ("2026-11-27", None)),
        ({"due_at": "2026-11-27T09:00:00+00:00"}, ("2026-11-27 10:00", None)),
        ({"due_at": "2026-11-27", "every": "hourly"}, ("2026-11-27", None)),
        ({"due_at": "2026-11-20"}, (None, None)),
        ({"due_at": "soon"}, (None, None)),
        ({"due_at": 7, "every": ["daily"]}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_a_model_may_say_when_a_fact_is_due(given, expected):
    """What it says is used if it can be; otherwise the fact is kept without."""
    [fact] = parse_extraction(str({"memory": [{"text": "Calls Anna", **given}]}).replace("'", '"'))

    assert fact.text == "Calls Anna"
    assert described(take_due_date(fact, NOW, BERLIN)) == expected


def test_a_text_tells_what_a_model_leaves_out():
    """As most models repeat the request and its date."""
    [fact] = parse_extraction('{"memory": [{"text": "User asked to be reminded to call Anna on 2026-11-27"}]}')
    [wish] = parse_extraction('{"memory": [{"text": "User wants to be reminded to call Anna on 2026-11-27"}]}')

    assert described(take_due_date(fact, NOW, BERLIN))[0] == "2026-11-27"
    assert described(take_due_date(wish, NOW, BERLIN))[0] == "2026-11-27"
