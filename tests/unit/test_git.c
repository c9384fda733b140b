/* SPDX-License-Identifier: Apache-2.0
 * Which git configurations and attributes may replace which: what everyday git writes passes, what
 * runs a program or redirects git does not, and the reader never sees less than git itself. */
#include "policy/git.h"

#include "policy/git_config.h"
#include "unit/main.h"

#include "base/mem.h"
#include "base/str.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define BASE "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
#define ORIGIN                                                                                     \
    "[remote \"origin\"]\n\turl = https://example.com/a.git\n"                                     \
    "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
#define PATH "/w/.git/config"
#define MODULE "/w/.git/modules/deps/sub/config"

/* `before` NULL: there was none. */
static const struct config_case {
    const char *name, *path, *before, *after;
    bool allowed;
} config_cases[] = {
    /* what git writes every day */
    { "git init", PATH, NULL, BASE "\tlogallrefupdates = true\n", true },
    { "git init on another file system", PATH, NULL,
            BASE "\tignorecase = true\n\tprecomposeunicode = true\n\tsymlinks = false\n", true },
    { "git clone", PATH, NULL,
            BASE ORIGIN "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n", true },
    { "a partial clone", PATH, BASE,
            BASE ORIGIN "\tpromisor = true\n\tpartialclonefilter = blob:none\n", true },
    { "git remote add", PATH, BASE,
            BASE "[remote \"up\"]\n\turl = git@example.com:a/b.git\n"
                 "\tfetch = +refs/heads/*:refs/remotes/up/*\n",
            true },
    { "git remote add of a path", PATH, BASE, BASE "[remote \"up\"]\n\turl = ../a\n", true },
    { "git remote remove", PATH, BASE ORIGIN, BASE, true },
    { "git push -u", PATH, BASE ORIGIN,
            BASE ORIGIN "[branch \"x/y\"]\n\tremote = origin\n\tmerge = refs/heads/x/y\n", true },
    { "git branch -d", PATH, BASE "[branch \"x\"]\n\tremote = origin\n", BASE, true },
    { "git branch --edit-description", PATH, BASE, BASE "[branch \"x\"]\n\tdescription = a ; b\n",
            true },
    { "git submodule init", PATH, BASE,
            BASE "[submodule \"deps/sub\"]\n\turl = https://example.com/s.git\n\tactive = true\n",
            true },
    { "the configuration of a submodule", MODULE, NULL,
            BASE "\tworktree = ../../../../deps/sub\n" ORIGIN, true },
    { "git worktree with its own configuration", PATH, BASE,
            BASE "[extensions]\n\tworktreeConfig = true\n", true },
    { "git sparse-checkout", "/w/.git/config.worktree", NULL,
            "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n", true },
    { "git maintenance", PATH, BASE,
            BASE "[maintenance]\n\tauto = false\n\tstrategy = incremental\n", true },
    { "a name and an address", PATH, BASE, BASE "[user]\n\tname = A B\n\temail = a@b\n", true },
    { "the built-in monitor", PATH, BASE, BASE "\tfsmonitor = true\n", true },
    { "no pager for a command", PATH, BASE, BASE "[pager]\n\tlog = false\n", true },
    { "git lfs install --local without filters", PATH, BASE,
            BASE "[lfs]\n\trepositoryformatversion = 0\n", true },
    { "what git lfs learns", PATH, BASE,
            BASE "[lfs \"https://example.com/a.git/info/lfs\"]\n\taccess = basic\n", true },
    { "a submodule that is merged", PATH, BASE, BASE "[submodule \"a\"]\n\tupdate = merge\n",
            true },
    { "an empty file", PATH, BASE, "", true },
    { "comments", PATH, BASE, "# [alias] x = !y\n; [include]\n" BASE, true },
    { "no end of line at the end", PATH, BASE, "[core]\n\tbare = false", true },
    { "carriage returns", PATH, BASE, "[core]\r\n\tbare = false\r\n", true },

    /* what runs a program */
    { "hooksPath", PATH, BASE, BASE "\thooksPath = /tmp/x\n", false },
    { "hooksPath in another case", PATH, BASE, "[CoRe]\nHOOKSPATH=/tmp/x\n", false },
    { "hooksPath behind its section", PATH, BASE, "[core] hooksPath = /tmp/x\n", false },
    { "hooksPath over two lines", PATH, BASE, "[core]\nhooksPath = /tm\\\np/x\n", false },
    { "hooksPath in quotes", PATH, BASE, "[core]\nhooksPath = \"/tmp/x\" ; c\n", false },
    { "hooksPath behind white space", PATH, BASE, " \t\v[core]\f\n \t hooksPath \t = \t/tmp/x\n",
            false },
    { "hooksPath in the old form of sections", PATH, BASE, "[core.]\nhooksPath = /tmp/x\n", false },
    { "hooksPath of a subsection is nothing to git, and refused", PATH, BASE,
            "[core \"x\"]\nhooksPath = /tmp/x\n", false },
    { "a monitor", PATH, BASE, BASE "\tfsmonitor = ./x\n", false },
    { "an ssh command", PATH, BASE, BASE "\tsshCommand = sh -c x\n", false },
    { "an editor", PATH, BASE, BASE "\teditor = x\n", false },
    { "a pager", PATH, BASE, BASE "\tpager = x\n", false },
    { "a pager for a command", PATH, BASE, BASE "[pager]\n\tlog = x\n", false },
    { "a git proxy", PATH, BASE, BASE "\tgitProxy = x\n", false },
    { "askpass", PATH, BASE, BASE "\taskPass = x\n", false },
    { "attributes of elsewhere", PATH, BASE, BASE "\tattributesFile = /tmp/a\n", false },
    { "alternate refs", PATH, BASE, BASE "\talternateRefsCommand = x\n", false },
    { "textconv", PATH, BASE, "[diff \"x\"]\n\ttextconv = x\n", false },
    { "an external diff", PATH, BASE, "[diff]\n\texternal = x\n", false },
    { "the command of a diff driver", PATH, BASE, "[diff \"x\"]\n\tcommand = x\n", false },
    { "a merge driver", PATH, BASE, "[merge \"x\"]\n\tdriver = x\n", false },
    { "a filter", PATH, BASE, "[filter \"x\"]\n\tclean = x\n", false },
    { "a filter process", PATH, BASE, "[filter \"x\"]\n\tprocess = x\n", false },
    { "a filter in the old form", PATH, BASE, "[filter.x]\n\tsmudge = x\n", false },
    { "a credential helper", PATH, BASE, "[credential]\n\thelper = !x\n", false },
    { "a credential helper of a host", PATH, BASE, "[credential \"https://h\"]\n\thelper = x\n",
            false },
    { "an alias", PATH, BASE, "[alias]\n\tst = !x\n", false },
    { "an alias without a command", PATH, BASE, "[alias]\n\tst = status\n", false },
    { "an alias of the new form", PATH, BASE, "[alias \"st\"]\n\tcommand = !x\n", false },
    { "include", PATH, BASE, "[include]\n\tpath = /tmp/x\n", false },
    { "includeIf", PATH, BASE, "[includeIf \"gitdir:/w/\"]\n\tpath = x\n", false },
    { "gpg", PATH, BASE, "[gpg]\n\tprogram = x\n", false },
    { "gpg of a format", PATH, BASE, "[gpg \"ssh\"]\n\tdefaultKeyCommand = x\n", false },
    { "the sequence editor", PATH, BASE, "[sequence]\n\teditor = x\n", false },
    { "a filter of interactive add", PATH, BASE, "[interactive]\n\tdiffFilter = x\n", false },
    { "a browser", PATH, BASE, "[browser \"x\"]\n\tcmd = x\n", false },
    { "a manual viewer", PATH, BASE, "[man \"x\"]\n\tcmd = x\n", false },
    { "a diff tool", PATH, BASE, "[difftool \"x\"]\n\tcmd = x\n", false },
    { "a merge tool", PATH, BASE, "[mergetool \"x\"]\n\tpath = x\n", false },
    { "a merge tool that is a file", PATH, BASE, "[merge]\n\ttool = ../../../../w/x\n", false },
    { "a diff tool that is a file", PATH, BASE, "[diff]\n\ttool = /w/x\n", false },
    { "a merge tool that git knows", PATH, BASE, "[merge]\n\ttool = vimdiff\n", true },
    { "a gui tool", PATH, BASE, "[guitool \"x\"]\n\tcmd = x\n", false },
    { "a trailer command", PATH, BASE, "[trailer \"x\"]\n\tcommand = x\n", false },
    { "a trailer cmd", PATH, BASE, "[trailer \"x\"]\n\tcmd = x\n", false },
    { "a configured hook", PATH, BASE, "[hook \"x\"]\n\tcommand = x\n\tevent = pre-commit\n",
            false },
    { "a template directory", PATH, BASE, "[init]\n\ttemplateDir = x\n", false },
    { "an archive filter", PATH, BASE, "[tar \"x\"]\n\tcommand = x\n", false },
    { "a hook of gc", PATH, BASE, "[gc]\n\trecentObjectsHook = x\n", false },
    { "the pack hook", PATH, BASE, "[uploadpack]\n\tpackObjectsHook = x\n", false },
    { "upload-pack of a remote", PATH, BASE ORIGIN, BASE ORIGIN "\tuploadpack = x\n", false },
    { "receive-pack of a remote", PATH, BASE ORIGIN, BASE ORIGIN "\treceivepack = x\n", false },
    { "a foreign remote", PATH, BASE ORIGIN, BASE ORIGIN "\tvcs = x\n", false },
    { "a submodule's command", PATH, BASE, "[submodule \"a\"]\n\tupdate = !x\n", false },
    { "mail by a program", PATH, BASE, "[sendemail]\n\tsmtpServer = /tmp/x\n", false },
    { "a transfer agent", PATH, BASE, "[lfs \"customtransfer.x\"]\n\tpath = x\n", false },
    { "a mail tunnel", PATH, BASE, "[imap]\n\ttunnel = x\n", false },

    /* what sends git elsewhere */
    { "another address for one", PATH, BASE, "[url \"ssh://x\"]\n\tinsteadOf = https://\n", false },
    { "a proxy", PATH, BASE, "[http]\n\tproxy = http://x\n", false },
    { "a proxy of a host", PATH, BASE, "[http \"https://h\"]\n\tproxy = http://x\n", false },
    { "no check of certificates", PATH, BASE, "[http]\n\tsslVerify = false\n", false },
    { "another authority", PATH, BASE, "[http]\n\tsslCAInfo = /tmp/x\n", false },
    { "a proxy of a remote", PATH, BASE ORIGIN, BASE ORIGIN "\tproxy = http://x\n", false },
    { "a protocol", PATH, BASE, "[protocol \"ext\"]\n\tallow = always\n", false },
    { "a bundle", PATH, BASE, "[fetch]\n\tbundleURI = x\n", false },
    { "a remote that is a command", PATH, BASE, "[remote \"x\"]\n\turl = ext::sh -c x\n", false },
    { "a remote by descriptor", PATH, BASE, "[remote \"x\"]\n\tpushurl = fd::7\n", false },
    { "a remote that looks like an option", PATH, BASE, "[remote \"x\"]\n\turl = --upload-pack=x\n",
            false },
    { "a remote whose host looks like an option", PATH, BASE,
            "[remote \"x\"]\n\turl = ssh://-oProxyCommand=x/y\n", false },
    { "a branch of a command", PATH, BASE, "[branch \"x\"]\n\tremote = ext::x\n", false },
    { "a submodule of a command", PATH, BASE, "[submodule \"x\"]\n\turl = ext::x\n", false },
    { "a remote by IPv6", PATH, BASE, "[remote \"x\"]\n\turl = https://[::1]/a\n", true },
    { "a remote by scp syntax and IPv6", PATH, BASE, "[remote \"x\"]\n\turl = g@[::1]:a\n", true },
    { "a worktree elsewhere", PATH, BASE, BASE "\tworktree = /home/u\n", false },
    { "a worktree beside the repository", PATH, BASE, BASE "\tworktree = ../../other\n", false },
    { "a worktree that is where it always was", PATH, BASE, BASE "\tworktree = ..\n", false },
    { "a submodule's worktree outside", MODULE, NULL, BASE "\tworktree = ../../../../../x\n",
            false },
    { "a submodule's worktree that is absolute", MODULE, NULL, BASE "\tworktree = /w/deps/sub\n",
            false },
    { "a submodule's worktree in the git directory", MODULE, NULL, BASE "\tworktree = ../x\n",
            false },
    { "a submodule's worktree that is the repository", MODULE, NULL,
            BASE "\tworktree = ../../../..\n", false },
    { "a submodule's worktree with a similar prefix", MODULE, NULL,
            BASE "\tworktree = ../../../../../w2/x\n", false },

    /* what stood there before */
    { "a hooksPath that stays", PATH, BASE "\thooksPath = h\n", BASE "\thooksPath = h\n" ORIGIN,
            true },
    { "a hooksPath that stays, written otherwise", PATH, BASE "\thooksPath = h\n",
            "[CORE]\nhookspath=\"h\" # x\n", true },
    { "a hooksPath that goes", PATH, BASE "\thooksPath = h\n", BASE, true },
    { "a hooksPath that changes", PATH, BASE "\thooksPath = h\n", BASE "\thooksPath = i\n", false },
    { "a hooksPath that is added to", PATH, BASE "\thooksPath = h\n",
            BASE "\thooksPath = h\n\thooksPath = i\n", false },
    { "values in another order", PATH, BASE "\thooksPath = h\n\thooksPath = i\n",
            BASE "\thooksPath = i\n\thooksPath = h\n", false },
    { "an earlier value comes back", PATH, BASE "\thooksPath = h\n\thooksPath = i\n",
            BASE "\thooksPath = h\n", false },
    { "a value for a key that had none", PATH, BASE "\thooksPath\n", BASE "\thooksPath = h\n",
            false },
    { "a filter of another name", PATH, "[filter \"a\"]\n\tclean = x\n",
            "[filter \"A\"]\n\tclean = x\n", false },
    { "a filter that stays", PATH, "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n",
            "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n" ORIGIN, true },
    { "a renamed remote that had upload-pack", PATH, "[remote \"a\"]\n\tuploadpack = x\n",
            "[remote \"b\"]\n\tuploadpack = x\n", false },

    /* what cannot be read */
    { "a section that does not end", PATH, BASE, "[core\n", false },
    { "a subsection that does not end", PATH, BASE, "[core \"x\n\"]\n", false },
    { "a section without a name", PATH, BASE, "[]\n", false },
    { "a section with a strange name", PATH, BASE, "[co_re]\n", false },
    { "something behind a subsection", PATH, BASE, "[core \"x\" y]\n", false },
    { "a key before any section", PATH, BASE, "bare = false\n", false },
    { "a key that begins with a digit", PATH, BASE, "[core]\n1x = y\n", false },
    { "a key with an underscore", PATH, BASE, "[core]\nx_y = z\n", false },
    { "a key with something behind it", PATH, BASE, "[core]\nx y\n", false },
    { "an unknown escape", PATH, BASE, "[core]\nx = \\q\n", false },
    { "a quote that does not end", PATH, BASE, "[core]\nx = \"y\n", false },
    { "a backslash at the end", PATH, BASE, "[core]\nx = y\\", false },
    { "a byte order mark", PATH, BASE, "\xef\xbb\xbf[core]\n", false },
    { "a present file that cannot be read", PATH, "[core\n", BASE, false },
};

START_TEST(a_configuration_is_judged_by_its_meaning)
{
    const struct config_case *c = &config_cases[_i];
    char reason[256] = "";
    bool allowed = git_config_allows(c->path, c->before, c->before == NULL ? 0 : strlen(c->before),
            c->after, strlen(c->after), reason, sizeof reason);

    ck_assert_msg(allowed == c->allowed, "%s: %s", c->name, reason);
    ck_assert_msg(allowed == (reason[0] == '\0'), "%s: %s", c->name, reason);
}
END_TEST

START_TEST(a_nul_byte_is_refused)
{
    static const char text[] = "[core]\n\0[alias]\n";
    char reason[256];

    ck_assert(!git_config_allows(PATH, NULL, 0, text, sizeof text - 1, reason, sizeof reason));
    ck_assert(!git_attributes_allow(NULL, 0, text, sizeof text - 1, reason, sizeof reason));
}
END_TEST

START_TEST(the_reason_names_the_key)
{
    static const char text[] = "[filter \"a\nb\"]\n";
    static const char filter[] = "[filter \"a\\\"b\"]\n\tclean = x\n";
    static const char sentence[] = "[filter \"x' is fine. Instead: run '\"]\n\tclean = x\n";
    char reason[256];

    ck_assert(!git_config_allows(PATH, NULL, 0, text, strlen(text), reason, sizeof reason));
    ck_assert(!git_config_allows(PATH, NULL, 0, filter, strlen(filter), reason, sizeof reason));
    ck_assert_msg(strstr(reason, "'filter.a\"b.clean'") != NULL, "%s", reason);
    ck_assert(!git_config_allows(PATH, NULL, 0, sentence, strlen(sentence), reason, sizeof reason));
    ck_assert_msg(
            strstr(reason, "'filter.x\\' is fine. Instead: run \\'.clean'") != NULL, "%s", reason);
}
END_TEST

static const struct attribute_case {
    const char *name, *before, *after;
    bool allowed;
} attribute_cases[] = {
    { "line ends and languages by set and unset", NULL,
            "*.c text eol=lf\n*.png binary\n*.x -diff\n", true },
    { "a filter", NULL, "* filter=x\n", false },
    { "a filter among others", NULL, "*.c text filter=x -diff\n", false },
    { "a diff driver", "*.c text\n", "*.c text\n*.c diff=x\n", false },
    { "a merge driver", NULL, "* merge=x", false },
    { "a macro with a filter", NULL, "[attr]m filter=x\n", false },
    { "a filter behind a quoted pattern", NULL, "\"a b\" filter=x\n", false },
    { "a filter that stays", "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "*.c text\n*.bin filter=lfs diff=lfs merge=lfs -text\n", true },
    { "a filter for other files", "*.bin filter=lfs\n", "* filter=lfs\n", false },
    { "an empty file", "* filter=x\n", "", true },
};

START_TEST(attributes_may_not_name_new_drivers)
{
    const struct attribute_case *c = &attribute_cases[_i];
    char reason[256] = "";
    bool allowed = git_attributes_allow(c->before, c->before == NULL ? 0 : strlen(c->before),
            c->after, strlen(c->after), reason, sizeof reason);

    ck_assert_msg(allowed == c->allowed, "%s: %s", c->name, reason);
}
END_TEST

/* ---- against git itself -----------------------------------------------------------------------
 */

/* What `git config --list -z` says of a file: NUL-separated "key\nvalue"; false if git refuses it.
 */
static bool
git_lists(const char *text, size_t length, struct str *out)
{
    char path[] = "/tmp/abx-git-XXXXXX";
    int fd = mkstemp(path), pipes[2], status = -1;
    char *const argv[] = { (char[]){ "git" }, (char[]){ "config" }, (char[]){ "--list" },
        (char[]){ "-z" }, (char[]){ "--no-includes" }, (char[]){ "-f" }, path, NULL };
    posix_spawn_file_actions_t actions;
    char buffer[4096];
    ssize_t n;
    pid_t pid;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, length), (ssize_t)length);
    close(fd);
    ck_assert_int_eq(pipe(pipes), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
    posix_spawn_file_actions_addclose(&actions, pipes[0]);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    ck_assert_int_eq(posix_spawnp(&pid, "git", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    while ((n = read(pipes[0], buffer, sizeof buffer)) > 0) {
        str_add_bytes(out, buffer, (size_t)n);
    }
    close(pipes[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    unlink(path);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Git up to 2.44 makes each unquoted white space of a value a blank, later ones keep it. */
static void
blank(struct str *text)
{
    for (size_t i = 0; i < text->length; i++) {
        if (text->data[i] == '\t' || text->data[i] == '\r' || text->data[i] == '\v' ||
                text->data[i] == '\f') {
            text->data[i] = ' ';
        }
    }
}

/* The same from our reader. */
static void
we_list(const struct vec *settings, struct str *out)
{
    for (size_t i = 0; i < settings->count; i++) {
        const struct git_setting *setting = vec_at(settings, struct git_setting, i);

        str_printf(out, "%s%s%s.%s", setting->section, setting->subsection == NULL ? "" : ".",
                setting->subsection == NULL ? "" : setting->subsection, setting->key);
        if (setting->value != NULL) {
            str_printf(out, "\n%s", setting->value);
        }
        str_add_bytes(out, "", 1);
    }
}

static const char *const syntax_cases[] = {
    "[a]\nb=c\n",
    "[a \"b c\"]\nD-e = f g \t\n",
    "[a \"b\\\\c\\\"d\\e\"]\nx\n",
    "[a.B.c]\nx=1\n",
    "[a.B \"C\"]\nx=1\n",
    "[a]b=c\n[d] e = f ; g\n",
    "[a]\nb = \"c ; d\" e # f\n",
    "[a]\nb = c\\\n  d\\\n\te\n",
    "[a]\nb = c\\td\\n\\\\e\\\"\n",
    "[a]\nb = \" c \" d  \n",
    "[a]\nb =    c    d    \n",
    "[a]\nb = \"\"\n",
    "[a]\nb =\n",
    "[a]\nb\n",
    "[a]\nb\t=c\r\n",
    "[a]\r\nb = c\r\n",
    "[a]\nb = c\rd\n",
    "[a]\nb = c \\\r\n d\n",
    "[a]\nb = c",
    "[a]\nb = c\\",
    "[a]\nb = \"c\\\nd\"\n",
    "[a]\nb = c\"d\"e\n",
    "[a]\n\v\f b = c\v\f\n",
    "[a]\nb = \xff\xfe\n",
    "[a \"\"]\nb = c\n",
    "[a.]\nb = c\n",
    "[a..b]\nc = d\n",
    "# x\n;y\n[a] # z\nb = c\n",
    "[a]\nb = c # d\\\ne = f\n",
    "[a]\nb # x\n",
    "[ a]\nb=c\n",
    "[a ]\nb=c\n",
    "[a\"b\"]\nc=d\n",
    "[a\t \"b\"]\nc=d\n",
    "[.a]\nb=c\n",
    "[-]\nb=c\n",
};

START_TEST(the_reader_reads_what_git_reads)
{
    const char *text = syntax_cases[_i];
    struct vec settings = VEC(struct git_setting);
    AUTO(str_done) struct str ours = { 0 };
    AUTO(str_done) struct str theirs = { 0 };
    bool git_reads = git_lists(text, strlen(text), &theirs);

    /* To refuse what git takes is safe; to take what git refuses is harmless; to read it otherwise
     * is not. */
    if (!git_config_read(text, strlen(text), &settings)) {
        return;
    }
    we_list(&settings, &ours);
    blank(&ours);
    blank(&theirs);
    if (git_reads) {
        ck_assert_msg(
                ours.length == theirs.length &&
                        (ours.length == 0 || memcmp(ours.data, theirs.data, ours.length) == 0),
                "%s\nours: %s\ngit's: %s", text, ours.data, theirs.data);
    }
    git_config_done(&settings);
}
END_TEST

START_TEST(what_this_git_writes_is_allowed)
{
    static const char script[] =
            "set -e; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
            "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; exec >/dev/null 2>&1; "
            "git init a; git -C a commit --allow-empty -m x; git clone a b; cd b; "
            "git -c protocol.file.allow=always submodule add ../a deps/sub; git remote add up "
            "../a; "
            "git fetch up; git branch x; git branch -u up/$(git branch --show-current) x; "
            "git worktree add ../wt; git sparse-checkout init --cone; git remote rename up down; "
            "git config user.name b; git maintenance run";
    static const char *const files[] = { "a/.git/config", "b/.git/config",
        "b/.git/modules/deps/sub/config", "b/.git/config.worktree" };
    char directory[] = "/tmp/abx-git-XXXXXX";
    char command[1200], text[8192], path[256], reason[256];

    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(command, sizeof command, "cd %s && (%s)", directory, script);
    ck_assert_int_eq(system(command), 0);
    for (size_t i = 0; i < N_ELEMENTS(files); i++) {
        FILE *file;
        size_t length;

        snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        file = fopen(path, "r");
        ck_assert_msg(file != NULL, "%s", path);
        length = fread(text, 1, sizeof text, file);
        fclose(file);
        ck_assert_msg(git_config_allows(path, NULL, 0, text, length, reason, sizeof reason),
                "%s: %s", files[i], reason);
    }
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("git");
    TCase *tcase = tcase_create("git");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_configuration_is_judged_by_its_meaning, 0,
            sizeof config_cases / sizeof config_cases[0]);
    tcase_add_test(tcase, a_nul_byte_is_refused);
    tcase_add_test(tcase, the_reason_names_the_key);
    tcase_add_loop_test(tcase, attributes_may_not_name_new_drivers, 0,
            sizeof attribute_cases / sizeof attribute_cases[0]);
    tcase_add_loop_test(tcase, the_reader_reads_what_git_reads, 0,
            sizeof syntax_cases / sizeof syntax_cases[0]);
    tcase_add_test(tcase, what_this_git_writes_is_allowed);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
