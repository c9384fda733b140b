/* SPDX-License-Identifier: Apache-2.0
 * Which places of a plan the mask covers, and what it serves there whatever the host has. */
#include "base/mem.h"
#include "base/str.h"
#include "linux/mask/mask.h"
#include "linux/mask/mask_tree.h"

#include "unit/main.h"

#include <stdint.h>
#include <string.h>

enum { A = ABX_VERDICT_ALLOW, D = ABX_VERDICT_DENY, Q = ABX_VERDICT_ASK };

/* A place a line: "r /path": a allow, d deny by rule, n denied by default, q ask; capital: a file.
 * "t /path" and "f /path": private directory and file; "i /path": input; "l /path": link; "x
 * /path": decoy. */
static const struct tree_case {
    const char *name, *plan;
    enum plan_root root;
    const char *tree; /* a line a node: kind, file or directory, top, has nodes, path */
} tree_cases[] = {
    { "a denied directory is a top", "a /\nd /s\n", ROOT_HOST, "denied dir top /s\n" },
    { "a denied file is a top", "a /\nD /etc/shadow\n", ROOT_HOST,
            "denied file top /etc/shadow\n" },
    { "readable places need nothing", "a /\na /w\n", ROOT_HOST, "" },
    { "what is denied in a denied place is part of it", "a /\nd /s\nd /s/x\n", ROOT_HOST,
            "denied dir top /s\n" },
    { "a readable place in a denied one is gone through", "a /\nn /home\na /home/u/work\n",
            ROOT_HOST,
            "default dir top nodes /home\ndefault dir nodes /home/u\nthrough dir /home/u/work\n" },
    { "a denied place in a readable one in a denied one is a top",
            "a /\nn /home\na /home/u\nd /home/u/.ssh\n", ROOT_HOST,
            "default dir top nodes /home\nthrough dir /home/u\ndenied dir top /home/u/.ssh\n" },
    { "an askable place in a denied one is reached", "a /\nd /s\nq /s/a/b\n", ROOT_HOST,
            "denied dir top nodes /s\ndenied dir nodes /s/a\nask dir /s/a/b\n" },
    { "a denied place in an askable one stays denied", "a /\nq /s\nD /s/a/b\n", ROOT_HOST,
            "ask dir top nodes /s\nask dir nodes /s/a\ndenied file /s/a/b\n" },
    { "a sibling with a longer name is no child", "a /\nd /s\na /s-t\na /s/u\n", ROOT_HOST,
            "denied dir top nodes /s\nthrough dir /s/u\n" },
    { "below a private place nothing of the host is seen", "a /\nd /tmp/s\nt /tmp\n", ROOT_HOST,
            "" },
    { "a workspace in a private place is seen", "a /\na /tmp/w\nd /tmp/w/s\nt /tmp\n", ROOT_HOST,
            "denied dir top /tmp/w/s\n" },
    { "a private place is no top itself", "a /\nd /tmp\nt /tmp\n", ROOT_HOST, "" },
    { "the root is the mask; files of the box need a readable place",
            "n /\nl /bin\na /usr\nt /tmp\nf /etc/hosts\ni /task/in/q\n", ROOT_MASK,
            "default dir top nodes /\nthrough file /bin\n"
            "default dir nodes /task\ndefault dir nodes /task/in\n"
            "through file /task/in/q\nthrough dir /tmp\nthrough dir /usr\n" },
    { "a root in pieces is not masked", "n /\na /usr\nd /usr/s\n", ROOT_PIECES,
            "denied dir top /usr/s\n" },
    { "an input below a private place is bound there", "n /\na /usr\nt /task\ni /task/in/q\n",
            ROOT_MASK, "default dir top nodes /\nthrough dir /task\nthrough dir /usr\n" },
    { "a decoy in a denied place is served", "a /\nd /h/.aws\nx /h/.aws/credentials\n", ROOT_HOST,
            "denied dir top nodes /h/.aws\ndecoy file /h/.aws/credentials\n" },
    { "a decoy stands for a file", "a /\nD /h/token\nx /h/token\n", ROOT_HOST,
            "decoy file top /h/token\n" },
    { "a decoy where nothing is needs a masked place", "a /\nx /h/token\n", ROOT_HOST, "" },
};

static void
add_line(struct plan *plan, const char *line, size_t length)
{
    char *path = strndup(line + 2, length - 2);
    struct place *place;
    struct private_place *private;
    struct plan_input *input;

    switch (line[0]) {
    case 't':
    case 'f':
        private
        = vec_add(&plan->privates);
        private->path = path;
        private->kind = line[0] == 't' ? PRIVATE_TMPFS : PRIVATE_FILE;
        return;
    case 'i':
        input = vec_add(&plan->inputs);
        *input = (struct plan_input){ .from = strdup("/from"), .as = path };
        return;
    case 'l':
        ((struct plan_link *)vec_add(&plan->links))->path = path;
        return;
    case 'x':
        *(char **)vec_add(&plan->decoys) = path;
        return;
    default:
        place = vec_add(&plan->places);
        place->path = path;
        place->is_directory = line[0] >= 'a';
        place->by_default = (line[0] | 0x20) == 'n';
        place->read = (line[0] | 0x20) == 'a' ? A : (line[0] | 0x20) == 'q' ? Q : D;
    }
}

static void
make_plan(struct plan *plan, const struct tree_case *c)
{
    *plan = (struct plan){ .root = c->root,
        .mask = true,
        .places = VEC(struct place),
        .privates = VEC(struct private_place),
        .links = VEC(struct plan_link),
        .inputs = VEC(struct plan_input),
        .decoys = VEC(char *) };
    for (const char *line = c->plan; *line != '\0'; line = strchr(line, '\n') + 1) {
        add_line(plan, line, strcspn(line, "\n"));
    }
}

static void
done(struct plan *plan, struct mask_tree *tree)
{
    mask_tree_done(tree);
    plan_done(plan);
}

static char *
dump(const struct mask_tree *tree)
{
    static const char *const kinds[] = { "denied", "default", "ask", "through", "decoy" };
    struct str text = { 0 };

    for (size_t i = 0; i < tree->nodes.count; i++) {
        const struct mask_node *node = vec_at(&tree->nodes, struct mask_node, i);

        str_printf(&text, "%s %s%s%s %s\n", kinds[node->kind], node->is_directory ? "dir" : "file",
                node->is_top ? " top" : "", node->has_nodes ? " nodes" : "", node->path);
    }
    return str_steal(&text, NULL);
}

START_TEST(the_tree_of_a_plan)
{
    const struct tree_case *c = &tree_cases[_i];
    struct mask_tree tree = { 0 };
    struct fail fail = { 0 };
    struct plan plan;
    char *text;

    make_plan(&plan, c);
    ck_assert_int_eq(mask_tree_make(&plan, &tree, &fail), ABX_OK);
    text = dump(&tree);
    ck_assert_msg(strcmp(text, c->tree) == 0, "%s:\n%s", c->name, text);
    ck_assert_msg(mask_needed(&plan) == (strstr(text, " top") != NULL), "%s", c->name);
    free(text);
    done(&plan, &tree);
}
END_TEST

START_TEST(each_top_has_an_entry_and_an_entry_finds_its_node)
{
    const struct tree_case *c = &tree_cases[_i];
    struct mask_tree tree = { 0 };
    struct fail fail = { 0 };
    struct plan plan;

    make_plan(&plan, c);
    ck_assert_int_eq(mask_tree_make(&plan, &tree, &fail), ABX_OK);
    for (size_t i = 0; i < plan.places.count; i++) {
        const char *path = vec_at(&plan.places, struct place, i)->path;
        size_t node = mask_tree_find(&tree, path);
        char entry[MASK_ENTRY_ROOM];
        bool is_top = mask_entry(&plan, i, entry);

        if (node == SIZE_MAX || !vec_at(&tree.nodes, struct mask_node, node)->is_top) {
            ck_assert_msg(!is_top, "%s: %s", c->name, path);
        } else {
            ck_assert_msg(is_top, "%s: %s", c->name, path);
            ck_assert_uint_eq(mask_tree_top(&tree, &plan, entry), node);
        }
    }
    ck_assert_uint_eq(mask_tree_top(&tree, &plan, ".."), SIZE_MAX);
    ck_assert_uint_eq(mask_tree_top(&tree, &plan, "99999999999999999999"), SIZE_MAX);
    ck_assert_uint_eq(mask_tree_top(&tree, &plan, "0x"), SIZE_MAX);
    done(&plan, &tree);
}
END_TEST

START_TEST(children_are_direct_ones_only)
{
    struct mask_tree tree = { 0 };
    struct fail fail = { 0 };
    struct plan plan;
    size_t top, child, grandchild;

    make_plan(&plan, &(struct tree_case){ .plan = "n /\na /a/b\na /ab\n", .root = ROOT_MASK });
    ck_assert_int_eq(mask_tree_make(&plan, &tree, &fail), ABX_OK);
    top = mask_tree_find(&tree, "/");
    child = mask_tree_child(&tree, top, "a");
    grandchild = mask_tree_child(&tree, child, "b");
    ck_assert_uint_eq(grandchild, mask_tree_find(&tree, "/a/b"));
    ck_assert_uint_eq(mask_tree_child(&tree, top, "b"), SIZE_MAX);
    ck_assert(mask_tree_is_child(&tree, top, child));
    ck_assert(mask_tree_is_child(&tree, child, grandchild));
    ck_assert(!mask_tree_is_child(&tree, top, grandchild));
    ck_assert(!mask_tree_is_child(&tree, top, top));
    ck_assert(!mask_tree_is_child(&tree, child, mask_tree_find(&tree, "/ab")));
    done(&plan, &tree);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("mask_tree");
    TCase *tcase = tcase_create("mask_tree");

    tcase_add_loop_test(tcase, the_tree_of_a_plan, 0, N_ELEMENTS(tree_cases));
    tcase_add_loop_test(
            tcase, each_top_has_an_entry_and_an_entry_finds_its_node, 0, N_ELEMENTS(tree_cases));
    tcase_add_test(tcase, children_are_direct_ones_only);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
