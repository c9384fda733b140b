# SPDX-License-Identifier: Apache-2.0
# A day with git, in an empty directory; what it prints must be the same in a box and outside.
set -u
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_PAGER=cat GIT_EDITOR=true HOME=/nonexistent
say() { echo "+ $*" >&2; "$@"; echo "= $?" >&2; }
say git init -q -b main .
say git config user.name "A B"
say git config user.email a@b
echo one > a; mkdir -p d; echo two > d/b
say git add .
say git commit -q -m first
say git status --short
say git tag v1
say git checkout -q -b topic
echo three >> a
say git commit -q -a -m second
say git checkout -q main
echo four > c
say git add c
say git commit -q -m third
say git merge -q --no-edit topic
say git checkout -q -b pick v1
say git cherry-pick topic
say git checkout -q -b base v1
echo five > e; git add e; git commit -q -m fifth
say git rebase -q main
echo conflict > a; git commit -q -a -m conflict
say git rebase -q v1
say git rebase --abort
say git rebase -i HEAD~1
say git checkout -q main
say git branch -D topic
say git branch -m pick picked
echo dirty >> a
say git stash
say git stash list
say git stash pop
say git reset -q --hard
touch junk; mkdir junkd; touch junkd/x
say git clean -fdq
say git init -q --bare -b main remote.git
say git remote add origin ./remote.git
say git push -q -u origin main
say git push -q origin --tags
say git fetch -q origin
say git pull -q
say git branch -vv
say git clone -q . copy
say git -C copy status --short
say git -C copy config user.name C
(cd copy && echo x > new && git add new && git commit -q -m inner && git gc -q && git push -q origin main:inner)
say git merge -q inner
say git worktree add -q wt -b wtb
(cd wt && echo w > w && git add w && git commit -q -m w && git status --short)
say cat wt/.git .git/worktrees/wt/commondir
say stat -c "%a %s %F" wt/.git
say git worktree list
say git worktree move wt wt2
say git worktree repair
say git worktree move wt2 wt
say git worktree prune
say git worktree remove wt
say git branch -D wtb
say git -c protocol.file.allow=always submodule add -q "$PWD/remote.git" sub
say git submodule status
say git commit -q -m sub
say cat sub/.git .git/modules/sub/config
(cd sub && echo s > s && git add s && git commit -q -m s && git status --short)
say git submodule update -q
say git -c protocol.file.allow=always clone -q --recursive . deep
say rm -rf deep
say git submodule deinit -f sub
say git -c protocol.file.allow=always submodule update -q --init sub
say git sparse-checkout set d
say git sparse-checkout list
say git sparse-checkout disable
say git notes add -m note
say git bisect start
say git bisect bad
say git bisect good v1
say git bisect reset
say git revert --no-edit HEAD
say git gc -q
say git repack -adq
say git reflog expire --expire=now --all
say git prune
say git fsck --no-progress
say git pack-refs --all
say git remote rename origin up
say git remote remove up
say git archive -o x.tar HEAD
say git rm -q --cached sub
say git reset -q --hard
say git apply /dev/null
say git am --abort
say git format-patch -q -1 -o p
say git maintenance run -q
say git config --list --local
say git config --unset user.name
mkdir vendor; say git init -q vendor/x
(cd vendor/x && echo q > q && git add q && git commit -q -m q)
say cat vendor/x/.git/config .git/config sub/.git .git/modules/sub/config
say mv vendor v2
say git -C v2/x status --short
say git -C v2/x log --oneline
say rm -rf v2 copy
say rmdir .git/nothing
say rm .git/nothing
say mv .git/nothing .git/other
say ls -A
