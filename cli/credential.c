/* SPDX-License-Identifier: Apache-2.0
 * Secrets for --credential: read from the tool's environment, a file or a descriptor, given to the
 * box, and wiped.  None is ever an argument or printed. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECRET_MAX = 8192 };

static bool
refuse(const char *option, const char *why)
{
    fprintf(stderr, "agentbox: --credential %s: %s\n", option, why);
    return false;
}

/* All of it, without the line's end. */
static ssize_t
read_all(int fd, char *buffer, size_t room)
{
    size_t length = 0;
    ssize_t n;

    while (length < room && (n = read(fd, buffer + length, room - length)) != 0) {
        if (n < 0 && errno != EINTR) {
            return -1;
        }
        length += n < 0 ? 0 : (size_t)n;
    }
    return (ssize_t)(length > 0 && buffer[length - 1] == '\n' ? length - 1 : length);
}

/* NULL: *ret_length bytes are in the buffer; else why not. */
static const char *
read_secret(const char *source, char *buffer, size_t room, size_t *ret_length)
{
    const char *value;
    char *end;
    ssize_t n;
    int fd;

    if (strncmp(source, "env:", 4) == 0) {
        value = getenv(source + 4);
        if (value == NULL || strlen(value) > room) {
            return value == NULL ? "the variable is not set" : "the secret is too long";
        }
        *ret_length = strlen(value);
        memcpy(buffer, value, *ret_length);
        return NULL;
    }
    if (strncmp(source, "fd:", 3) == 0) {
        fd = (int)strtol(source + 3, &end, 10);
        if (source[3] < '0' || source[3] > '9' || *end != '\0') {
            return "fd: wants the number of a descriptor";
        }
    } else if (strncmp(source, "file:", 5) == 0) {
        fd = open(source + 5, O_RDONLY | O_CLOEXEC);
    } else {
        return "say where it is: NAME=env:VARIABLE, NAME=file:PATH or NAME=fd:N";
    }
    n = fd < 0 ? -1 : read_all(fd, buffer, room);
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        return strerror(errno);
    }
    *ret_length = (size_t)n;
    return NULL;
}

bool
credentials_give(const struct options *options, abx_box *box, abx_error **ret_error)
{
    for (size_t i = 0; i < options->n_credentials; i++) {
        const char *option = options->credentials[i], *equals = strchr(option, '=');
        char *name = strndup(option, (size_t)(equals - option));
        char secret[SECRET_MAX + 2];
        size_t length = 0;
        const char *why = name == NULL ? "out of memory"
                                       : read_secret(equals + 1, secret, sizeof secret, &length);
        abx_status status = ABX_OK;

        if (why == NULL) {
            status = abx_box_set_credential(box, name, secret, length, 0, ret_error);
        }
        explicit_bzero(secret, sizeof secret);
        free(name);
        if (why != NULL) {
            return refuse(option, why);
        }
        if (status < 0) {
            return false;
        }
    }
    return true;
}

void
credential_refuse(abx_context *context, abx_event *event)
{
    const char *name = abx_event_get_string(event, ABX_FIELD_TARGET);
    char message[320];
    abx_answer no = {
        .size = sizeof no, .verdict = ABX_VERDICT_DENY, .approver = "agentbox", .message = message
    };

    snprintf(message, sizeof message,
            "nobody gave the secret '%.100s': start agentbox with --credential %.100s=env:VARIABLE",
            name, name);
    abx_context_answer(context, (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), &no, NULL);
}
