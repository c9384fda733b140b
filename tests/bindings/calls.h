/* SPDX-License-Identifier: Apache-2.0
 * The forty-four calls: the name of each in expected.json, and its function. */
#ifndef ABX_TESTS_CALLS_H
#define ABX_TESTS_CALLS_H

#include <jansson.h>

/* clang-format off */
#define CALLS \
    CALL("policy-unknown-key", policy_unknown_key) \
    CALL("policy-not-json", policy_not_json) \
    CALL("policy-other-version", policy_other_version) \
    CALL("builder-unknown-profile", builder_unknown_profile) \
    CALL("builder-variable-not-set", builder_variable_not_set) \
    CALL("builder-weaken-without-reason", builder_weaken_without_reason) \
    CALL("builder-rules", builder_rules) \
    CALL("digest-of-the-same", digest_of_the_same) \
    CALL("policy-to-json-and-back", policy_to_json_and_back) \
    CALL("describe", describe) \
    CALL("evaluate-allowed", evaluate_allowed) \
    CALL("evaluate-denied", evaluate_denied) \
    CALL("evaluate-asked", evaluate_asked) \
    CALL("evaluate-connect", evaluate_connect) \
    CALL("evaluate-unknown-kind", evaluate_unknown_kind) \
    CALL("explain-request", explain_request) \
    CALL("intersect", intersect) \
    CALL("compare", compare) \
    CALL("replay", replay) \
    CALL("redact", redact) \
    CALL("receipt", receipt) \
    CALL("output", output) \
    CALL("exit-code", exit_code) \
    CALL("ended-by-a-signal", ended_by_a_signal) \
    CALL("environment-and-directory", environment_and_directory) \
    CALL("output-limit", output_limit) \
    CALL("pipes", pipes) \
    CALL("not-found", not_found) \
    CALL("time-out", time_out) \
    CALL("poll-signal-and-wait", poll_signal_and_wait) \
    CALL("kill", kill_box) \
    CALL("denial-fields", denial_fields) \
    CALL("denial-as-json", denial_as_json) \
    CALL("order-of-events", order_of_events) \
    CALL("explanation", explanation) \
    CALL("alternative", alternative) \
    CALL("question-fields", question_fields) \
    CALL("once-and-for-the-command", once_and_for_the_command) \
    CALL("refusal-has-its-message", refusal_has_its_message) \
    CALL("stats", stats) \
    CALL("answer-to-nothing", answer_to_nothing) \
    CALL("grant-and-revoke", grant_and_revoke) \
    CALL("grant-of-what-a-rule-denies", grant_of_what_a_rule_denies)                              \
    CALL("grants-of-requests-and-actions", grants_of_requests_and_actions)

#define CALL(name, function) json_t *function(void);
CALLS
#undef CALL
/* clang-format on */

#endif
