/* SPDX-License-Identifier: Apache-2.0
 * The operations that mount.  All by descriptor: open_tree, mount_setattr, move_mount, and fsopen
 * for what is new.  While the box is built, its root stands on top of the host's "/", whose
 * descriptor still leads to the host's tree; OP_PIVOT leaves that behind. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#define BOX_ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define PROPAGATION_PRIVATE (1u << 18) /* MS_PRIVATE */

static int
close_and(int fd, int r)
{
    sys_close(fd);
    return r;
}

static unsigned
recursive(const struct wire_op *op)
{
    return (op->flags & OPF_RECURSIVE) != 0 ? AT_RECURSIVE : 0;
}

static int
set_attributes(int fd, unsigned flags, uint64_t set, uint64_t clear)
{
    struct mount_attr attributes = {
        .attr_set = set, .attr_clr = clear, .propagation = PROPAGATION_PRIVATE
    };

    return sys_mount_setattr(fd, flags, &attributes);
}

/* Covers `path` of the box with a detached mount; the descriptor stays the caller's. */
int
init_attach(struct init *init, int tree, const char *path)
{
    int target = init_open_box(init, path, O_PATH);

    if (target < 0) {
        return target;
    }
    return close_and(target, sys_move_mount(tree, target));
}

static int
clone_tree(int fd, unsigned flags, uint64_t set, uint64_t clear)
{
    int tree = sys_open_tree(fd, flags);
    int r;

    if (tree < 0) {
        return tree;
    }
    r = set_attributes(tree, flags, set, clear);
    return r < 0 ? close_and(tree, r) : tree;
}

/* ---- new file systems ---- */

static int
configure(int context, unsigned command, const char *key, const char *value)
{
    return (int)SYS(fsconfig, context, command, key, value, 0, 0);
}

static void
write_number(char *buffer, size_t room, uint64_t value, unsigned base)
{
    size_t i = room - 1;

    buffer[i] = '\0';
    do {
        buffer[--i] = (char)('0' + value % base);
        value /= base;
    } while (value != 0 && i > 0);
    for (size_t k = 0; i < room; k++, i++) {
        buffer[k] = buffer[i];
    }
}

static int
configure_number(int context, const char *key, uint64_t value, unsigned base)
{
    char text[24];

    if (base == 0) {
        return configure(context, FSCONFIG_SET_FLAG, key, NULL);
    }
    write_number(text, sizeof text, value, base);
    return configure(context, FSCONFIG_SET_STRING, key, text);
}

struct parameter {
    const char *key;
    uint64_t value;
    unsigned base; /* 0: a flag, without a value */
};

/* A detached mount of a new file system; ends at the first parameter without a key. */
static int
make_mount(const char *type, const struct parameter *parameters, uint64_t attributes)
{
    int context = (int)SYS(fsopen, type, FSOPEN_CLOEXEC, 0, 0, 0, 0);
    int r = 0;

    if (context < 0) {
        return context;
    }
    for (; r >= 0 && parameters->key != NULL; parameters++) {
        r = configure_number(context, parameters->key, parameters->value, parameters->base);
    }
    if (r >= 0) {
        r = configure(context, FSCONFIG_CMD_CREATE, NULL, NULL);
    }
    if (r >= 0) {
        r = (int)SYS(fsmount, context, FSMOUNT_CLOEXEC, attributes, 0, 0, 0);
    }
    return close_and(context, r);
}

static int
make_tmpfs(struct init *init, uint64_t mode, uint64_t size)
{
    const struct parameter parameters[] = { { "mode", mode, 8 },
        { size == 0 ? NULL : "size", size, 10 }, { NULL, 0, 0 } };
    int tree = make_mount("tmpfs", parameters, BOX_ATTRIBUTES);
    int r;

    if (tree < 0) {
        return tree;
    }
    r = init_remember(init, tree);
    return r < 0 ? close_and(tree, r) : tree;
}

int
op_tmpfs(struct init *init, const struct wire_op *op)
{
    int tree = make_tmpfs(init, op->x, op->y);

    if (tree < 0) {
        return tree;
    }
    return close_and(tree, init_attach(init, tree, init_text(init, op->b)));
}

int
op_proc(struct init *init, const struct wire_op *op)
{
    const struct parameter none = { 0 };
    int tree = make_mount("proc", &none, BOX_ATTRIBUTES | MOUNT_ATTR_NOEXEC);
    int r;

    if (tree < 0) {
        return tree;
    }
    r = init_attach(init, tree, init_text(init, op->b));
    if (r < 0) {
        return close_and(tree, r);
    }
    init->proc = tree;
    return 0;
}

int
op_devpts(struct init *init, const struct wire_op *op)
{
    const struct parameter parameters[] = { { "ptmxmode", 0666, 8 }, { "mode", 0620, 8 },
        { NULL, 0, 0 } };
    int tree = make_mount("devpts", parameters, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);

    if (tree < 0) {
        return tree;
    }
    return close_and(tree, init_attach(init, tree, init_text(init, op->b)));
}

/* The descriptor of /dev/fuse must come from this user namespace, so it is opened here.  It goes to
 * the host before the mount is attached: whatever looks at it from then on is served.  Without
 * "allow_other" the kernel lets its own user through, whose ids all processes of the box have, and
 * the supervisor too; with it, only the box's user namespace. */
int
op_fuse(struct init *init, const struct wire_op *op)
{
    const uint64_t attributes = BOX_ATTRIBUTES | MOUNT_ATTR_RDONLY;
    const struct wire_message message = { .kind = WIRE_FUSE };
    struct parameter parameters[] = { { "fd", 0, 10 }, { "rootmode", 040000, 8 },
        { "user_id", 0, 10 }, { "group_id", 0, 10 }, { NULL, 0, 0 } };
    int fuse = init_open_host(init, "/dev/fuse", O_RDWR);
    int tree;
    int r;

    if (fuse < 0) {
        return fuse;
    }
    parameters[0].value = (uint64_t)fuse;
    parameters[2].value = (uint64_t)SYS(geteuid, 0, 0, 0, 0, 0, 0);
    parameters[3].value = (uint64_t)SYS(getegid, 0, 0, 0, 0, 0, 0);
    tree = make_mount("fuse", parameters, attributes);
    if (tree < 0) {
        return close_and(fuse, tree);
    }
    r = init_send(init->control, &message, &fuse, 1);
    sys_close(fuse);
    if (r == 0) {
        r = init_attach(init, tree, init_text(init, op->b));
    }
    return close_and(tree, r);
}

/* ---- what exists ---- */

static int
cover_root(struct init *init, int tree)
{
    int r = sys_move_mount(tree, init->old_root);

    if (r < 0) {
        return close_and(tree, r);
    }
    sys_close(init->root);
    init->root = tree;
    return 0;
}

static int
leave_propagation(struct init *init)
{
    init->old_root = sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    return init->old_root < 0 ? init->old_root : set_attributes(init->old_root, AT_RECURSIVE, 0, 0);
}

/* A clone of the host's "/" that is taken after the new root covered it would have the new root in
 * it, so the one that a program may want is taken before. */
int
op_root_tmpfs(struct init *init, const struct wire_op *op)
{
    int tree = leave_propagation(init);

    if (tree < 0) {
        return tree;
    }
    init->whole = sys_open_tree(init->old_root, AT_RECURSIVE);
    if (init->whole < 0) {
        return init->whole;
    }
    tree = make_tmpfs(init, op->x == 0 ? 0755 : op->x, op->y);
    return tree < 0 ? tree : cover_root(init, tree);
}

static int
take_whole(struct init *init, uint64_t set, uint64_t clear)
{
    int tree = init->whole;
    int r;

    if (tree < 0) {
        return -EBUSY;
    }
    init->whole = -1;
    r = set_attributes(tree, AT_RECURSIVE, set, clear);
    return r < 0 ? close_and(tree, r) : tree;
}

int
op_bind(struct init *init, const struct wire_op *op)
{
    const char *from = init_text(init, op->a);
    bool is_box = (op->flags & OPF_FROM_BOX) != 0;
    int tree;
    int fd;

    if (!is_box && from[0] == '/' && from[1] == '\0') {
        tree = take_whole(init, op->x, op->y);
    } else {
        fd = is_box ? init_open_box(init, from, O_PATH) : init_open_host(init, from, O_PATH);
        if (fd < 0) {
            return fd;
        }
        tree = close_and(fd, clone_tree(fd, recursive(op), op->x, op->y));
    }
    if (tree < 0) {
        return tree;
    }
    return close_and(tree, init_attach(init, tree, init_text(init, op->b)));
}

int
op_remount(struct init *init, const struct wire_op *op)
{
    int fd = init_open_box(init, init_text(init, op->b), O_PATH);

    return fd < 0 ? fd : close_and(fd, set_attributes(fd, recursive(op), op->x, op->y));
}

static void
forget_host(struct init *init)
{
    sys_close(init->old_root);
    init->old_root = -1;
    if (init->whole >= 0) {
        sys_close(init->whole);
        init->whole = -1;
    }
}

/* The old root lands on top of the new one, and "." leads to it. */
static int
pivot_into(int root)
{
    int r = (int)SYS(fchdir, root, 0, 0, 0, 0, 0);

    if (r == 0) {
        r = (int)SYS(pivot_root, ".", ".", 0, 0, 0, 0);
    }
    if (r == 0) {
        r = (int)SYS(umount2, ".", SYS_MNT_DETACH, 0, 0, 0, 0);
    }
    return r;
}

/* Afterwards no descriptor of init leads to the host's tree.  A root inside the one that was built
 * takes two steps: in one, the host's tree would have the built root on top of it, which is then
 * all that is unmounted, and "/.." would be the host's tree. */
int
op_pivot(struct init *init, const struct wire_op *op)
{
    int root = -1;
    int r = pivot_into(init->root);

    if (r == 0) {
        root = init_open_box(init, init_text(init, op->b), O_PATH | O_DIRECTORY);
        r = root < 0 ? root : pivot_into(root);
    }
    if (r == 0) {
        r = (int)SYS(chdir, "/", 0, 0, 0, 0, 0);
    }
    if (r < 0) {
        return r; /* init ends */
    }
    sys_close(init->root);
    init->root = root;
    forget_host(init);
    return 0;
}
