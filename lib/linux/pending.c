/* SPDX-License-Identifier: Apache-2.0
 * Stands for the parts that land next; each takes its own functions away from here. */
#include "linux/mask.h"
#include "linux/notify.h"
#include "linux/stub.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

/* ---- mask_serve.c ---- */
struct mask *
mask_new(struct boundary *boundary, struct fail *fail)
{
    fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "mask", "not in this build yet");
    return NULL;
}

abx_status
mask_attach(struct mask *mask, int fuse, struct fail *fail)
{
    close_fd(fuse);
    return fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "mask", "not in this build yet");
}

void
mask_answer(struct mask *mask, uint64_t ticket, abx_verdict verdict)
{
}

void
mask_free(struct mask *mask)
{
}

/* ---- notify.c ---- */
struct notify *
notify_new(struct boundary *boundary, uint64_t command, int listener)
{
    close_fd(listener);
    return NULL;
}

void
notify_free(struct notify *notify)
{
}

void
notify_answer(struct notify *notify, uint64_t ticket, abx_verdict verdict)
{
}

void
notify_close(struct boundary *boundary)
{
}

/* ---- stub.c ---- */
struct stub *
stub_new(struct boundary *boundary, struct fail *fail)
{
    fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "stub", "not in this build yet");
    return NULL;
}

abx_status
stub_attach(struct stub *stub, int fd, int type, struct fail *fail)
{
    close_fd(fd);
    return fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "stub", "not in this build yet");
}

void
stub_free(struct stub *stub)
{
}
