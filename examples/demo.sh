#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A working session in a real repository, inside a boundary: demo.sh PATH-OF-AGENTBOX
# Everything happens in a directory made for it and removed at the end.
set -eu
agentbox=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /var/tmp/agentbox-demo.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/repo" "$work/home" "$work/home/.ssh" "$work/published"
echo 'a private key' >"$work/home/.ssh/id_ed25519"
export HOME="$work/home" GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Demo GIT_AUTHOR_EMAIL=demo@example.com
export GIT_COMMITTER_NAME=Demo GIT_COMMITTER_EMAIL=demo@example.com

cat >"$work/policy.json" <<'JSON'
{
  "version": 1,
  "name": "demo",
  "extends": "workspace-write",
  "filesystem": {
    "read": { "deny": [{ "path": "${home}/.ssh", "id": "no-keys", "reason": "private keys stay outside",
                         "instead": "let the person push" }] },
    "write": { "ask": [{ "path": "${published}", "id": "publish", "reason": "publishing needs a person" }] }
  },
  "environment": { "pass": ["PATH", "LANG", "TERM", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
                            "GIT_COMMITTER_EMAIL", "GIT_CONFIG_NOSYSTEM"] }
}
JSON

# Who answers questions here: a program that says what it was asked and agrees once.
cat >"$work/approver" <<'SH'
#!/bin/sh
read -r question
echo "  approver was asked: $(printf %s "$question" | sed -n 's/.*"target":"\([^"]*\)".*/\1/p'), answers once" >&2
echo once
SH
chmod +x "$work/approver"

cd "$work/repo"
git init -q -b main .
printf 'int add(int a, int b);\nint add(int a, int b)\n{\n    return a + b;\n}\n' >add.c
printf '#include <stdio.h>\nint add(int, int);\nint main(void)\n{\n    printf("%%d\\n", add(40, 2));\n    return 0;\n}\n' >main.c
printf 'answer: main.o add.o\n\tcc -o $@ $^\ntest: answer\n\ttest "$$(./answer)" = 42\n' >Makefile
printf '*.o\nanswer\n' >.gitignore
git add . && git commit -qm 'start'

step() { # WHAT EXPECTED-OUTPUT COMMAND...
    what=$1
    expected=$2
    shift 2
    echo "\$ $what"
    "$agentbox" run --policy "$work/policy.json" --workspace "$work/repo" --var "published=$work/published" \
        --events "$work/events" --ask "$work/approver" --explain -- "$@" 2>&1 | sed 's/^/  /' >"$work/out" || true
    cat "$work/out"
    [ "$expected" = any ] || grep -q "$expected" "$work/out" || {
        echo "demo: '$what' did not print '$expected'" >&2
        exit 1
    }
}

step 'git status' 'clean' git status
step 'make' 'cc' make
step 'make test' 'test' make test
step 'edit and commit' 'say why' sh -c 'echo "/* the answer */" >>add.c && git commit -qam "say why" && git log --oneline main'
step 'cat ~/.ssh/id_ed25519' 'private keys stay outside' cat "$HOME/.ssh/id_ed25519"
step 'plant a git hook' 'hooks' sh -c 'echo "#!/bin/sh" >.git/hooks/pre-commit'
step 'curl https://example.com' 'network' bash -c 'exec 3<>/dev/tcp/example.com/443'
step 'publish (held until answered)' any sh -c 'echo "the answer is 42" >"$0/report.txt"' "$work/published"
[ "$(cat "$work/published/report.txt")" = 'the answer is 42' ] || {
    echo 'demo: the granted write did not happen' >&2
    exit 1
}

echo
python3 "$here/events-table.py" "$work/events"
python3 "$here/events-table.py" --check "$work/events" "path read $HOME/.ssh/id_ed25519" \
    "path write $work/repo/.git/hooks/pre-commit" "connect - example.com" "path write $work/published/report.txt"
