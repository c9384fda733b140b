/* SPDX-License-Identifier: Apache-2.0
 * How the egress understands connections of HTTP, for the comparison with another parser
 * (compare.py).  Standard input: connections, each a line with its length in bytes, then the bytes.
 * A connection's answer is a line "request METHOD TARGET BODY COMPLETE NAME VALUE ..." for each
 * request, all in hexadecimal ("-" is empty), and then "end" or "refused STATUS WHY". */
#include "egress/http_body.h"

#include <stdio.h>
#include <stdlib.h>

static void
put_hex(struct span span)
{
    putchar(' ');
    for (size_t i = 0; i < span.length; i++) {
        printf("%02x", (unsigned char)span.at[i]);
    }
    if (span.length == 0) {
        putchar('-');
    }
}

/* Gathers the body; how many bytes were used, or -1. */
static ssize_t
take_body(const struct http_head *head, const char *bytes, size_t length, char *body,
        size_t *ret_length, bool *ret_is_over, const char **why)
{
    struct http_body state;
    size_t used = 0;

    http_body_start(&state, head);
    *ret_length = 0;
    while (used < length && !http_body_is_over(&state)) {
        struct span piece;
        ssize_t r = http_body_read(&state, bytes + used, length - used, &piece, why);

        if (r < 0) {
            return -1;
        }
        for (size_t i = 0; i < piece.length; i++) {
            body[(*ret_length)++] = piece.at[i];
        }
        used += (size_t)r;
    }
    *ret_is_over = http_body_is_over(&state);
    return (ssize_t)used;
}

static void
put_request(const struct http_head *head, struct span body, bool is_over)
{
    printf("request");
    put_hex(head->method);
    put_hex(head->target);
    put_hex(body);
    printf(" %d", is_over);
    for (size_t i = 0; i < head->n_fields; i++) {
        put_hex(head->fields[i].name);
        put_hex(head->fields[i].value);
    }
    putchar('\n');
}

static void
read_connection(const char *bytes, size_t length)
{
    static struct http_head head;
    char *body = malloc(length + 1);
    const char *why = "";
    int r = 0;

    while (length > 0) {
        size_t body_length = 0;
        bool is_over = false;
        ssize_t used;

        r = http_request_parse(bytes, length, &head, &why);
        if (r <= 0) {
            break;
        }
        used = take_body(&head, bytes + r, length - (size_t)r, body, &body_length, &is_over, &why);
        if (used < 0) {
            r = -400;
            break;
        }
        put_request(&head, (struct span){ body, body_length }, is_over);
        bytes += r + used;
        length -= (size_t)(r + used);
        /* What follows an upgrade depends on the answer. */
        if (!head.keep_alive || !is_over || head.upgrade.length > 0) {
            break;
        }
    }
    if (r < 0) {
        printf("refused %d %s\n", -r, why);
    } else {
        printf("end\n");
    }
    free(body);
}

int
main(void)
{
    size_t length;

    while (scanf("%zu", &length) == 1) {
        char *bytes = malloc(length + 1);

        getchar();
        if (bytes == NULL || fread(bytes, 1, length, stdin) != length) {
            return EXIT_FAILURE;
        }
        read_connection(bytes, length);
        free(bytes);
    }
    return EXIT_SUCCESS;
}
