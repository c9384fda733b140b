/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event.h"

#include "api/door.h"

uint32_t
abx_event_get_type(abx_event *event)
{
    return event == NULL ? 0 : event->type;
}

int64_t
abx_event_get_int(abx_event *event, uint32_t field)
{
    return event == NULL ? 0 : event_number(event, field);
}

const char *
abx_event_get_string(abx_event *event, uint32_t field)
{
    return event == NULL ? NULL : event_text(event, field);
}

abx_status
abx_event_to_json(abx_event *event, char **ret_json, size_t *ret_length)
{
    struct str out = { 0 };

    if (event == NULL || ret_json == NULL) {
        return ABX_ERR_INVALID;
    }
    event_json(&out, event, 0);
    return door_text(str_steal(&out, ret_length), ret_json);
}

abx_status
abx_event_to_text(abx_event *event, char **ret_text, size_t *ret_length)
{
    struct str out = { 0 };

    if (event == NULL || ret_text == NULL) {
        return ABX_ERR_INVALID;
    }
    event_write_text(&out, event);
    return door_text(str_steal(&out, ret_length), ret_text);
}

abx_event *
abx_event_ref(abx_event *event)
{
    return event_ref(event);
}

void
abx_event_unref(abx_event *event)
{
    event_unref(event);
}
