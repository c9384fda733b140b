/* SPDX-License-Identifier: Apache-2.0
 * Which function does which operation.  Order and meaning were verified by the library; a code that
 * is not in the table is refused. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

static int op_ready(struct init *init, const struct wire_op *op);

static op_fn *const op_functions[] = {
    [OP_WRITE_MAPS] = op_write_maps,
    [OP_ROOT_TMPFS] = op_root_tmpfs,
    [OP_BIND] = op_bind,
    [OP_TMPFS] = op_tmpfs,
    [OP_PROC] = op_proc,
    [OP_DEVPTS] = op_devpts,
    [OP_MKDIR] = op_mkdir,
    [OP_FILE] = op_file,
    [OP_SYMLINK] = op_symlink,
    [OP_STAND_IN] = op_stand_in,
    [OP_REMOUNT] = op_remount,
    [OP_FUSE] = op_fuse,
    [OP_DEVICE] = op_device,
    [OP_PIVOT] = op_pivot,
    [OP_WRITE] = op_write,
    [OP_HOSTNAME] = op_hostname,
    [OP_SESSION] = op_session,
    [OP_RLIMIT] = op_rlimit,
    [OP_LOOPBACK_UP] = op_loopback_up,
    [OP_SOCKET] = op_socket,
    [OP_GATEWAY] = op_gateway,
    [OP_WATCH] = op_watch,
    [OP_DROP_CAPABILITIES] = op_drop_capabilities,
    [OP_LANDLOCK] = op_landlock,
    [OP_LANDLOCK_PATH] = op_landlock_path,
    [OP_LANDLOCK_SELF] = op_landlock_self,
    [OP_READY] = op_ready,
};
#define N_FUNCTIONS (sizeof op_functions / sizeof op_functions[0])

static int
op_ready(struct init *init, const struct wire_op *op)
{
    const struct wire_message message = { .kind = WIRE_READY, .mask = init->optional_failed };

    if (init->pid != 1) {
        init_find_proc(init);
    }
    return init_send(init->control, &message, &init->root, 1);
}

const char *
init_text(const struct init *init, uint32_t offset)
{
    return offset < init->header.strings_size ? init->strings + offset : "";
}

int
op_run(struct init *init, const struct wire_op *op)
{
    bool is_optional = (op->flags & OPF_OPTIONAL) != 0;
    int r;

    if (op->code >= N_FUNCTIONS || op_functions[op->code] == NULL) {
        return -EBADMSG;
    }
    r = op_functions[op->code](init, op);
    if (is_optional) {
        if (r < 0 && init->n_optional < 32) {
            init->optional_failed |= 1u << init->n_optional;
        }
        init->n_optional++;
        return 0;
    }
    if ((op->flags & OPF_MAY_VANISH) != 0 && (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)) {
        return 0;
    }
    return r;
}
