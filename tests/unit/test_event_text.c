/* SPDX-License-Identifier: Apache-2.0
 * What a person reads of an event. */
#include "event/event.h"
#include "event/plain.h"

#include "unit/main.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *shown;
} values[] = {
    { "/srv/pub/report", "/srv/pub/report" },
    { "/home/J\u00fcrgen/\u00dcbersicht.txt", "/home/J\u00fcrgen/\u00dcbersicht.txt" },
    { "/\u041e\u0442\u0447\u0451\u0442 \u0437\u0430 \u0433\u043e\u0434.pdf",
            "/\u041e\u0442\u0447\u0451\u0442 \\u{437}\\u{430} \u0433\u043e\u0434.pdf" },
    { "/\u5831\u544a\u66f8/\u30c6\u30b9\u30c8", "/\u5831\u544a\u66f8/\u30c6\u30b9\u30c8" },
    /* one letter of another script */
    { "/usr/bin/\u0455udo", "/usr/bin/\\u{455}udo" },
    { "g\u043e\u043egle.com", "g\\u{43E}\\u{43E}gle.com" },
    /* a word of letters that all look Latin */
    { "\u0440\u0430\u0443\u0440\u0430", "\\u{440}\\u{430}\\u{443}\\u{440}\\u{430}" },
    { "/a\u30cebin", "/a\\u{30CE}bin" }, /* like a slash */
    { "/\u4e00", "/\\u{4E00}" }, /* like a dash */
    /* what turns, hides, covers */
    { "\u202etxt.exe", "\\u{202E}txt.exe" },
    { "a\u200bb", "a\\u{200B}b" },
    { "a\u0338b", "a\\u{338}b" },
    { "a\u00a0b", "a\\u{A0}b" },
    { "\u05d0\u05d1", "\\u{5D0}\\u{5D1}" },
    { " a  b ", "\\x20a \\x20b\\x20" },
    { "a\nb\033[2J", "a\\u{A}b\\u{1B}[2J" },
    { "\xff", "\\xFF" },
    /* what reads as an escape or an omission of ours */
    { "a\\u{41}\\x20\\", "a\\\\u{41}\\\\x20\\\\" },
    { "/a [9 CHARACTERS LEFT OUT] b", "/a \\u{5B}9 CHARACTERS LEFT OUT] b" },
    { "/a[12 Characters left out", "/a\\u{5B}12 Characters left out" },
    { "a[0][12] [x]", "a[0][12] [x]" },
    { "", "" },
};

START_TEST(what_could_deceive_is_written_as_its_number)
{
    struct str out = { 0 };

    str_add_plain(&out, values[_i].text);
    ck_assert_str_eq(out.data == NULL ? "" : out.data, values[_i].shown);
    str_done(&out);
}
END_TEST

START_TEST(the_middle_of_what_is_long_is_left_out_and_counted)
{
    char text[1001];
    struct str out = { 0 };

    memset(text, 'a', 1000);
    text[0] = 'h';
    text[999] = 't';
    text[1000] = '\0';
    str_add_plain(&out, text);
    ck_assert_ptr_nonnull(strstr(out.data, "a [616 CHARACTERS LEFT OUT] a"));
    ck_assert_int_eq(out.data[0], 'h');
    ck_assert_int_eq(out.data[out.length - 1], 't');
    ck_assert_uint_lt(out.length, 420);
    str_done(&out);
}
END_TEST

START_TEST(a_question_has_the_real_target_beside_what_was_spelled)
{
    struct event_draft draft = { .type = ABX_EVENT_APPROVAL };
    abx_event *event;
    char *text;

    draft_number(&draft, ABX_FIELD_REQUEST, ABX_REQUEST_PATH);
    draft_number(&draft, ABX_FIELD_ACCESS, ABX_ACCESS_WRITE);
    draft_text(&draft, ABX_FIELD_VERB, "open");
    draft_text(&draft, ABX_FIELD_TARGET, "/srv/pub/report");
    draft_text(&draft, ABX_FIELD_ASKED, "/w/l\u0456nk\n  what       /w/harmless");
    draft_text(&draft, ABX_FIELD_PROGRAM, "/w/da\\x73h\xff");
    draft_number(&draft, ABX_FIELD_PID, 4711);
    draft_text(&draft, ABX_FIELD_RULE, "publish");
    draft_number(&draft, ABX_FIELD_APPROVERS, 2);
    draft_number(&draft, ABX_FIELD_STEP_UP, 1);
    draft_number(&draft, ABX_FIELD_DEADLINE_MS, 1000);
    event = event_make(&draft);
    ck_assert_int_eq(abx_event_to_text(event, &text, NULL), ABX_OK);
    ck_assert_str_eq(text, "a command asks for something the policy puts to you\n"
                           "  wants to   write path: open\n"
                           "  what       /srv/pub/report\n"
                           "  spelled    /w/l\\u{456}nk\\u{A} \\x20what "
                           "\\x20\\x20\\x20\\x20\\x20\\x20/w/harmless\n"
                           "  program    /w/da\\\\x73h\\xFF (process 4711)\n"
                           "  rule       publish\n"
                           "  a yes needs two different approvers, each with evidence\n"
                           "  answer by  1970-01-01 00:00:01 UTC, then it is refused\n");
    abx_free(text);
    ck_assert_int_eq(abx_event_to_text(NULL, &text, NULL), ABX_ERR_INVALID);
    event_unref(event);
}
END_TEST

START_TEST(no_argument_of_an_action_is_hidden_by_another)
{
    struct event_draft draft = { .type = ABX_EVENT_APPROVAL };
    struct str verb = { 0 };
    abx_event *event;
    char *text;

    str_add(&verb, "{\"a\":\"");
    for (int i = 0; i < 500; i++) {
        str_add(&verb, "x");
    }
    str_add(&verb,
            "\",\"amount\":9999,\"b\":\"\\u202e\\\"\\n\",\"\":7,\"c: 1\":{\"/\":[true,null,[]]},"
            "\"d\":\"");
    for (int i = 0; i < 500; i++) {
        str_add(&verb, "y");
    }
    str_add(&verb, "\"}");
    draft_number(&draft, ABX_FIELD_REQUEST, ABX_REQUEST_ACTION);
    draft_text(&draft, ABX_FIELD_VERB, verb.data);
    draft_text(&draft, ABX_FIELD_TARGET, "pay");
    event = event_make(&draft);
    ck_assert_int_eq(abx_event_to_text(event, &text, NULL), ABX_OK);
    ck_assert_msg(strstr(text, "  action     pay\n  argument   a: \"xxx") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "x [116 CHARACTERS LEFT OUT] x") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "\"\n  argument   amount: 9999\n"
                               "  argument   b: \"\\u{202E}\\\"\\u{A}\"\n"
                               "  argument   \"/\": 7\n"
                               "  argument   \"/c: 1/~1\": 3 elements\n"
                               "  argument   \"/c: 1/~1/0\": true\n"
                               "  argument   \"/c: 1/~1/1\": null\n"
                               "  argument   \"/c: 1/~1/2\": []\n"
                               "  argument   d: \"yyy") != NULL,
            "%s", text);
    ck_assert_msg(strstr(text, "y\"\n  a yes holds once") != NULL, "%s", text);
    abx_free(text);
    event_unref(event);
    str_done(&verb);
}
END_TEST

START_TEST(the_arguments_of_a_program_are_shown)
{
    struct event_draft draft = { .type = ABX_EVENT_APPROVAL };
    abx_event *event;
    char *text;

    draft_number(&draft, ABX_FIELD_REQUEST, ABX_REQUEST_EXEC);
    draft_number(&draft, ABX_FIELD_ACCESS, ABX_ACCESS_EXEC);
    draft_text(&draft, ABX_FIELD_VERB, "exec");
    draft_text(&draft, ABX_FIELD_TARGET, "/usr/bin/rm");
    draft_text(&draft, ABX_FIELD_BOUND,
            "{\"program\":{\"sha256\":\"00\",\"length\":1},\"arguments\":[\"rm\",\"-rf\",\"/"
            "a\\\\x0Ab\\\\\\\\u{41}\"],"
            "\"argument_lengths\":[2,2,270],\"argument_count\":7,\"arguments_sha256\":\"00\"}");
    event = event_make(&draft);
    ck_assert_int_eq(abx_event_to_text(event, &text, NULL), ABX_OK);
    ck_assert_msg(strstr(text, "  what       /usr/bin/rm\n"
                               "  argument   \"rm\"\n"
                               "  argument   \"-rf\"\n"
                               "  argument   \"/a\\u{A}b\\\\u{41}\" [260 MORE BYTES]\n"
                               "  argument   [4 MORE ARGUMENTS]\n") != NULL,
            "%s", text);
    abx_free(text);
    event_unref(event);
}
END_TEST

START_TEST(what_a_server_said_is_its_words_each_on_a_line)
{
    struct event_draft draft = { .type = ABX_EVENT_NOTICE };
    abx_event *event;
    char *text;

    draft_number(&draft, ABX_FIELD_CLASS, ABX_CLASS_VALIDATION);
    draft_number(&draft, ABX_FIELD_REQUEST, ABX_REQUEST_ACTION);
    draft_text(&draft, ABX_FIELD_TARGET, "pay");
    draft_text(&draft, ABX_FIELD_REASON, "the server answered 422");
    draft_text(&draft, ABX_FIELD_PROBLEM,
            "{\"title\":\"no\\n  rule     x\",\"detail\":7,\"fields\":[\"#/a\",\"b\",3]}");
    event = event_make(&draft);
    ck_assert_int_eq(abx_event_to_text(event, &text, NULL), ABX_OK);
    ck_assert_str_eq(text, "something failed, and was not denied\n"
                           "  wants to   action\n"
                           "  what       pay\n"
                           "  because    the server answered 422\n"
                           "  title      \"no\\u{A} \\x20rule \\x20\\x20\\x20\\x20x\"\n"
                           "  field      \"#/a\"\n"
                           "  field      \"b\"\n");
    abx_free(text);
    event_unref(event);
}
END_TEST

static const struct body_case {
    const char *bound, *line;
} body_cases[] = {
    { "{\"body\":{\"sha256\":\"00\",\"length\":12},\"content_type\":\"a/b; c=\\\"d\\u202ee\\\"\"}",
            "  body       12 bytes of type \"a/b; c=\\\"d\\u{202E}e\\\"\"\n" },
    { "{\"body\":\"not looked at\",\"exchange\":1,\"length\":2000000}",
            "  body       2000000 bytes NOBODY LOOKED AT\n" },
    { "{\"body\":\"not looked at\",\"exchange\":1}", "  body       NOBODY LOOKED AT IT\n" },
    { "{\"body\":\"not looked at\",\"exchange\":1,\"content_type\":\"a/\\\\x0Ab\",\"content_type_"
      "length\":300,\"content_encoding\":\"gzip\"}",
            "  body       NOBODY LOOKED AT IT of type \"a/\\u{A}b\" [296 MORE BYTES] encoded as "
            "\"gzip\"\n" },
    { "{\"body\":\"none\",\"upgrade\":\"websocket\"}",
            "  upgrade    becomes a connection of its own (WebSocket), of which nothing is looked "
            "at "
            "afterwards\n" },
    { "{\"body\":\"none\"}", "  what       https://a.test/\n  program    /bin/x\n" },
};

START_TEST(how_much_a_request_sends_is_shown_and_what_nobody_looked_at)
{
    const struct body_case *c = &body_cases[_i];
    struct event_draft draft = { .type = ABX_EVENT_APPROVAL };
    abx_event *event;
    char *text;

    draft_number(&draft, ABX_FIELD_REQUEST, ABX_REQUEST_HTTP);
    draft_text(&draft, ABX_FIELD_VERB, "PUT");
    draft_text(&draft, ABX_FIELD_TARGET, "https://a.test/");
    draft_text(&draft, ABX_FIELD_PROGRAM, "/bin/x");
    draft_text(&draft, ABX_FIELD_BOUND, c->bound);
    event = event_make(&draft);
    ck_assert_int_eq(abx_event_to_text(event, &text, NULL), ABX_OK);
    ck_assert_msg(strstr(text, c->line) != NULL, "%s", text);
    abx_free(text);
    event_unref(event);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("event_text");
    TCase *tcase = tcase_create("event_text");

    tcase_add_loop_test(tcase, what_could_deceive_is_written_as_its_number, 0,
            (int)(sizeof values / sizeof values[0]));
    tcase_add_test(tcase, the_middle_of_what_is_long_is_left_out_and_counted);
    tcase_add_test(tcase, no_argument_of_an_action_is_hidden_by_another);
    tcase_add_test(tcase, what_a_server_said_is_its_words_each_on_a_line);
    tcase_add_test(tcase, the_arguments_of_a_program_are_shown);
    tcase_add_loop_test(tcase, how_much_a_request_sends_is_shown_and_what_nobody_looked_at, 0,
            (int)(sizeof body_cases / sizeof body_cases[0]));
    tcase_add_test(tcase, a_question_has_the_real_target_beside_what_was_spelled);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
