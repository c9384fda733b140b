/* SPDX-License-Identifier: Apache-2.0
 * Names that policies protect without being told, each list once: what the profiles keep
 * unreadable, what stays unwritable in every writable root, what of the environment is passed. Data
 * only. */
#include "policy/builder.h"

/* Literal paths only: one pattern here would have every open of every box decided. */
static const char *const secrets[] = {
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.oci",
    "~/.kube",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.config/glab-cli",
    "~/.config/op",
    "~/.config/rclone",
    "~/.config/git/credentials",
    "~/.docker/config.json",
    "~/.netrc",
    "~/.git-credentials",
    "~/.pgpass",
    "~/.my.cnf",
    "~/.npmrc",
    "~/.yarnrc.yml",
    "~/.pypirc",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.gem/credentials",
    "~/.terraform.d/credentials.tfrc.json",
    "~/.vault-token",
    "~/.password-store",
    "~/.local/share/keyrings",
    "~/.local/share/kwalletd",
    "~/.mozilla",
    "~/.thunderbird",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.config/BraveSoftware",
    "~/.config/microsoft-edge",
    "~/.config/vivaldi",
    "~/.config/opera",
    "~/snap/firefox",
    "~/snap/chromium",
    "~/.var/app/org.mozilla.firefox",
    "~/.var/app/com.google.Chrome",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    NULL,
};

/* What runs later, outside the box: shell start-up, editors, package managers, agents. */
static const char *const names[] = {
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".envrc",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".cursor",
    ".claude",
    ".codex",
    ".gemini",
    ".agents",
    ".husky",
    ".npmrc",
    ".yarnrc",
    ".pypirc",
    ".gitconfig",
    NULL,
};

static const char *const passed[] = {
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NUMERIC",
    "LC_TIME",
    "TERM",
    "COLORTERM",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    NULL,
};

const char *const *
secret_paths(void)
{
    return secrets;
}

const char *const *
protected_names(void)
{
    return names;
}

const char *const *
passed_names(void)
{
    return passed;
}
