/* SPDX-License-Identifier: Apache-2.0
 * What a bad policy gets: the status, the pointer, line and column, what is wrong and what was
 * probably meant; and that everything good is read.  Variables of every row: home=/home/u,
 * workspace=/w, output=/out. */
#include "base/json.h"

#include "policy/rules.h"
#include "unit/main.h"

#include <stdio.h>
#include <string.h>

static abx_status
parse(const char *json, size_t length, abx_policy **ret_policy, abx_error **reterr)
{
    abx_policy_builder *builder = NULL;
    abx_status r;

    ck_assert_int_eq(abx_policy_builder_new(NULL, &builder, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_variable(builder, "home", "/home/u"), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_variable(builder, "workspace", "/w"), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_variable(builder, "output", "/out"), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_source(builder, "p.json"), ABX_OK);
    abx_policy_builder_merge_json(builder, json, length);
    r = abx_policy_builder_build(builder, ret_policy, reterr);
    abx_policy_builder_unref(builder);
    return r;
}

/* `says`: what the message has after "p.json:"; line and column come first. */
static const struct bad_case {
    const char *name, *json, *step, *says, *remedy;
} bad_cases[] = {
    { "an empty document", "", "policy:", "1:1:", "" },
    { "null", "null", "policy:", "1:1: this is null, and must be an object", "" },
    { "an array", "[]", "policy:", "1:1: this is an array", "" },
    { "a document that is cut", "{\"version\":1,\"name\":", "policy:/name", "1:", "" },
    { "something behind the document", "{\"version\":1}}",
            "policy:", "1:14: the document ended before this", "" },
    { "a cut string", "{\"version\":1,\"name\":\"a", "policy:/name", "the string does not end",
            "" },
    { "a comma too many", "{\"version\":1,}", "policy:", "1:14: a key is expected", "" },
    { "no comma", "{\"version\":1 \"name\":\"x\"}", "policy:", "1:14: ',' or '}' is expected", "" },
    { "a key without quotes", "{version:1}", "policy:", "1:2: a key is expected", "" },
    { "no colon", "{\"version\" 1}", "policy:/version", "':' is expected", "" },
    { "a number with a leading zero", "{\"version\":01}", "policy:/version", "this is no number",
            "" },
    { "a word that is none", "{\"version\":1,\"strict\":True}", "policy:/strict",
            "a value is expected", "" },
    { "half a surrogate", "{\"version\":1,\"name\":\"\\ud800x\"}", "policy:/name", "this escape",
            "" },
    { "a line end in a string", "{\"version\":1,\"name\":\"a\nb\"}", "policy:/name",
            "must be escaped", "" },
    { "a comment", "{\"version\":1} // x", "policy:", "1:", "" },
    { "no version", "{\"name\":\"x\"}", "policy:", "the key 'version' is missing", "" },
    { "another version", "{\"version\":2}", "policy:/version", "1:12: /version: 2 is out of range",
            "" },
    { "an unknown key at the top", "{\"version\":1,\n \"filesytem\":{}}", "policy:/filesytem",
            "2:2: /filesytem: unknown key 'filesytem'; nearest known one is 'filesystem'",
            "write 'filesystem'" },
    { "an unknown key inside", "{\"version\":1,\"filesystem\":{\"write\":{\"denny\":[]}}}",
            "policy:/filesystem/write/denny",
            "1:37: /filesystem/write/denny: unknown key 'denny'; "
            "nearest known one is 'deny'",
            "write 'deny'" },
    { "an unknown key in an entry",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"deny\":[{\"host\":\"x.com\","
            "\"prot\":80}]}}",
            "policy:/network/deny/0/prot", "unknown key 'prot'", "known here: host id" },
    { "a key in another case", "{\"version\":1,\"Limits\":{}}", "policy:/Limits",
            "nearest known one is 'limits'", "" },
    { "a key twice", "{\"version\":1,\"limits\":{\"memory\":5,\"memory\":6}}",
            "policy:/limits/memory", "1:35: /limits/memory: the same key stands here twice", "" },
    { "a section twice", "{\"version\":1,\"limits\":{},\n\"limits\":{}}", "policy:/limits",
            "2:1: /limits: the same key stands here twice", "" },
    { "a string for a list", "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":\"/a\"}}}",
            "policy:/filesystem/read/deny",
            "1:43: /filesystem/read/deny: this is a string, and must "
            "be an array",
            "" },
    { "a number for a path", "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[5]}}}",
            "policy:/filesystem/read/deny/0",
            "this is a whole number, and must be a string or an object", "" },
    { "null for a section", "{\"version\":1,\"limits\":null}", "policy:/limits",
            "this is null, and must be an object", "" },
    { "a number with a fraction", "{\"version\":1,\"limits\":{\"memory\":1.5}}",
            "policy:/limits/memory", "this is a number with a fraction", "" },
    { "a number that is too big", "{\"version\":1,\"limits\":{\"memory\":99999999999999999999}}",
            "policy:/limits/memory", "the number is too big", "" },
    { "a limit of zero", "{\"version\":1,\"limits\":{\"processes\":0}}", "policy:/limits/processes",
            "0 is out of range", "" },
    { "a negative limit", "{\"version\":1,\"limits\":{\"wall_ms\":-1}}", "policy:/limits/wall_ms",
            "-1 is out of range", "" },
    { "an approval time of two days", "{\"version\":1,\"approvals\":{\"timeout_ms\":172800000}}",
            "policy:/approvals/timeout_ms", "out of range", "" },
    { "a NUL in a string", "{\"version\":1,\"name\":\"a\\u0000b\"}", "policy:/name",
            "1:23: /name: this escape is no character", "" },
    { "a byte order mark at the end", "{\"version\":1}\n\xef\xbb\xbf",
            "policy:", "2:1: the document ended before this", "" },
    { "text that is not UTF-8", "{\"version\":1,\"name\":\"\xff\"}", "policy:/name",
            "1:22: /name: this is not UTF-8", "" },
    { "a path in an allow that is a pattern",
            "{\"version\":1,\n \"filesystem\": {\"read\": {\"allow\": [\"/a\", \"/b/*\"]}}}",
            "policy:/filesystem/read/allow/1",
            "2:42: /filesystem/read/allow/1: '/b/*' is a pattern", "name the directory" },
    { "all below a directory in an allow",
            "{\"version\":1,\"filesystem\":{\"write\":{\"allow\":[\"/w/x/**\"]}}}",
            "policy:/filesystem/write/allow/0", "'/w/x/**' is a pattern", "write '/w/x': " },
    { "a pattern in exec", "{\"version\":1,\"filesystem\":{\"exec\":{\"deny\":[\"/usr/bin/*\"]}}}",
            "policy:/filesystem/exec/deny/0", "exec rules take literal paths", "" },
    { "a class that does not end",
            "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/a/[b\"]}}}",
            "policy:/filesystem/read/deny/0", "no character class", "" },
    { "an unset variable", "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"${data}/x\"]}}}",
            "policy:/filesystem/read/deny/0", "the variable 'data' is not set",
            "set 'data' before" },
    { "a variable in another case",
            "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"${HOME}/x\"]}}}",
            "policy:/filesystem/read/deny/0", "the variable 'HOME' is not set; 'home' is", "" },
    { "a variable as the shell has it",
            "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"$HOME/.ssh\"]}}}",
            "policy:/filesystem/read/deny/0", "'$HOME' is no variable", "write '${home}'" },
    { "a variable that does not end",
            "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"${home/x\"]}}}",
            "policy:/filesystem/read/deny/0", "a variable is written '${name}'", "" },
    { "another user's home", "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"~bob/x\"]}}}",
            "policy:/filesystem/read/deny/0", "'~' stands for the home directory only",
            "absolute" },
    { "a path that goes up", "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/a/../b\"]}}}",
            "policy:/filesystem/read/deny/0", "'..'", "" },
    { "an empty path", "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"\"]}}}",
            "policy:/filesystem/read/deny/0", "empty", "" },
    { "a backslash at the end", "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/a\\\\\"]}}}",
            "policy:/filesystem/read/deny/0", "nothing follows the last backslash", "" },
    { "a byte that cannot be in a name",
            "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/a\\\\x00\"]}}}",
            "policy:/filesystem/read/deny/0", "cannot be part of a name", "" },
    { "a byte with one digit",
            "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/a\\\\xf\"]}}}",
            "policy:/filesystem/read/deny/0", "two hexadecimal digits", "" },
    { "an entry without its path",
            "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[{\"reason\":\"x\"}]}}}",
            "policy:/filesystem/read/deny/0", "the key 'path' is missing", "" },
    { "an empty reason",
            "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[{\"path\":\"/"
            "a\",\"reason\":\"\"}]}}}",
            "policy:/filesystem/read/deny/0/reason", "the text is empty", "" },
    { "an input by pattern", "{\"version\":1,\"filesystem\":{\"inputs\":[{\"from\":\"/a/*\"}]}}",
            "policy:/filesystem/inputs/0", "inputs are named one by one", "" },
    { "an input that leaves its directory",
            "{\"version\":1,\"filesystem\":{\"inputs\":[{\"from\":\"/a/b\",\"as\":\"../b\"}]}}",
            "policy:/filesystem/inputs/0", "cannot be a name below the inputs directory", "" },
    { "two inputs of one name",
            "{\"version\":1,\"filesystem\":{\"inputs\":[{\"from\":\"/a/x\"},{\"from\":\"/b/x\"}]}}",
            "policy:/filesystem/inputs/1", "another input appears as 'x'", "" },
    { "a protected name that is absolute",
            "{\"version\":1,\"filesystem\":{\"protect\":{\"add\":[\"/etc/x\"]}}}",
            "policy:/filesystem/protect/add/0", "no name inside a writable root", "write.deny" },
    { "a protected name that is a pattern",
            "{\"version\":1,\"filesystem\":{\"protect\":{\"add\":[\"*.key\"]}}}",
            "policy:/filesystem/protect/add/0", "protected names are literal", "write.deny" },
    { "an unknown way to protect git",
            "{\"version\":1,\"filesystem\":{\"protect\":{\"git\":\"freeze\"}}}",
            "policy:/filesystem/protect/git", "nearest is 'frozen'", "" },
    { "an unknown mode", "{\"version\":1,\"network\":{\"mode\":\"filterd\"}}",
            "policy:/network/mode",
            "'filterd' is none of none, filtered, host; nearest is 'filtered'", "" },
    { "rules that mode none makes idle", "{\"version\":1,\"network\":{\"allow\":[\"x.com\"]}}",
            "policy:/network", "its mode is 'none'", "\"mode\": \"filtered\"" },
    { "mode host without a reason", "{\"version\":1,\"network\":{\"mode\":\"host\"}}",
            "policy:/network/mode", "nothing weakens the policy", "host-network" },
    { "a URL for a host",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"https://x.com/\"]}}",
            "policy:/network/allow/0", "is a URL", "write the host alone" },
    { "a host that is none",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"-x.com\"]}}",
            "policy:/network/allow/0", "no valid host", "" },
    { "a star inside a host",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"a.*.com\"]}}",
            "policy:/network/allow/0", "no valid host", "" },
    { "a port beyond all ports",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"x.com:70000\"]}}",
            "policy:/network/allow/0", "is no port", "" },
    { "a port that is a word",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"x.com:https\"]}}",
            "policy:/network/allow/0", "'https' is no port", "" },
    { "a range of ports the wrong way round", "{\"version\":1,\"network\":{\"listen\":[\"9-3\"]}}",
            "policy:/network/listen/0", "'9-3' is no port and no range", "" },
    { "a bracket that does not end",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"[fd00::1:443\"]}}",
            "policy:/network/allow/0", "no ']'", "" },
    { "a range that is too long",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"private\":[\"10.0.0.0/33\"]}}",
            "policy:/network/private/0", "no valid host", "" },
    { "a name in private",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"private\":[\"x.com\"]}}",
            "policy:/network/private/0", "is a name", "list the name in allow" },
    { "loopback in private",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"private\":[\"127.0.0.1:80\"]}}",
            "policy:/network/private/0", "loopback of the host", "host_loopback" },
    { "a socket by pattern", "{\"version\":1,\"network\":{\"sockets\":[\"/run/*.sock\"]}}",
            "policy:/network/sockets/0", "sockets are named one by one", "" },
    { "an unknown upstream", "{\"version\":1,\"network\":{\"upstream\":\"ftp://x\"}}",
            "policy:/network/upstream", "is none of environment", "" },
    { "a segment that is no argument of its action",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"a.com\","
            "\"http\":[{\"methods\":[\"PUT\"],\"path\":\"/v1/{idd}\",\"action\":\"act\"}]}]},\n"
            "\"actions\":[{\"name\":\"act\",\"verdict\":\"ask\",\"arguments\":{\"id\":"
            "{\"type\":\"string\"}}}]}",
            "policy:/network/allow/0/http/0/path",
            "1:102: /network/allow/0/http/0/path: the action 'act' has no argument 'idd'; nearest "
            "is "
            "'id'",
            "" },
    { "an unknown profile", "{\"version\":1,\"extends\":\"taks\"}", "policy:/extends",
            "nearest is 'task'", "the profiles are" },
    { "an empty reason to weaken",
            "{\"version\":1,\"weaken\":[{\"what\":\"best-effort\",\"reason\":\" \"}]}",
            "policy:/weaken/0", "a reason that is not empty", "audited" },
    { "weaken without a reason", "{\"version\":1,\"weaken\":[{\"what\":\"best-effort\"}]}",
            "policy:/weaken/0", "the key 'reason' is missing", "" },
    { "an unknown weakening",
            "{\"version\":1,\"weaken\":[{\"what\":\"host-netwrok\",\"reason\":\"x\"}]}",
            "policy:/weaken/0/what", "nearest is 'host-network'", "" },
    { "a user by name", "{\"version\":1,\"run_as\":\"nobody\"}", "policy:/run_as", "no 'uid:gid'",
            "" },
    { "the id that means unchanged", "{\"version\":1,\"run_as\":\"4294967295:0\"}",
            "policy:/run_as", "no 'uid:gid'", "" },
    { "a variable that cannot be one", "{\"version\":1,\"environment\":{\"pass\":[\"A=B\"]}}",
            "policy:/environment/pass/0", "cannot name an environment variable", "" },
    { "an environment value that is a number",
            "{\"version\":1,\"environment\":{\"set\":{\"CI\":1}}}", "policy:/environment/set/CI",
            "must be a string", "" },
    { "a name that is set and passed",
            "{\"version\":1,\"environment\":{\"pass\":[\"CI\"],\"set\":{\"CI\":\"1\"}}}",
            "policy:/environment/set/CI", "it cannot be set too", "" },
    { "a variable with another value", "{\"version\":1,\"variables\":{\"home\":\"/other\"}}",
            "policy:/variables/home", "the variable 'home' is '/home/u' already", "" },
    { "a variable of the box", "{\"version\":1,\"variables\":{\"tmp\":\"/x\"}}",
            "policy:/variables/tmp", "fixed", "" },
    { "unknown feedback", "{\"version\":1,\"feedback\":{\"reads\":\"quiet\"}}",
            "policy:/feedback/reads", "'quiet' is none of events, silent", "" },
    { "a mistake in a layer",
            "{\"version\":1,\"layers\":[{\"name\":\"a\"},\n{\"filesystem\":{\"raed\":{}}}]}",
            "policy:/layers/1/filesystem/raed", "2:16: /layers/1/filesystem/raed: unknown key",
            "" },
    { "a layer in a layer", "{\"version\":1,\"layers\":[{\"layers\":[]}]}",
            "policy:/layers/0/layers", "unknown key 'layers'", "" },
    { "no layer", "{\"version\":1,\"layers\":[]}", "policy:/layers", "1 to 16 layers", "" },
    { "layers beside rules", "{\"version\":1,\"layers\":[{}],\"limits\":{}}", "policy:/limits",
            "unknown key 'limits'", "" },
    { "a method in small letters",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"get\"],\"path\":\"/v1/**\"}]}]}}",
            "policy:/network/allow/0/http/0/methods/0", "'get' is no method", "" },
    { "no method",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[],\"path\":\"/v1/**\"}]}]}}",
            "policy:/network/allow/0/http/0/methods", "the list is empty", "" },
    { "requests without a path",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"GET\"]}]}]}}",
            "policy:/network/allow/0/http/0", "the key 'path' is missing", "" },
    { "requests without rules",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[]}]}}",
            "policy:/network/allow/0/http", "the list is empty", "" },
    { "a path with a query",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/v1?x=1\"}]}]}}",
            "policy:/network/allow/0/http/0/path", "has a '?'", "the query is not matched" },
    { "a path that is encoded",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/a%20b\"}]}]}}",
            "policy:/network/allow/0/http/0/path", "has a '?', '#' or '%'", "as they are" },
    { "a path that goes up",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/a/../b\"}]}]}}",
            "policy:/network/allow/0/http/0/path", "as a component", "" },
    { "an empty segment",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/a//b\"}]}]}}",
            "policy:/network/allow/0/http/0/path", "no empty segment", "" },
    { "an action that is none",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/a\",\"action\":\"hr read\"}]}]}}",
            "policy:/network/allow/0/http/0/action", "is no name", "" },
    { "requests of a deny",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"deny\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/a\"}]}]}}",
            "policy:/network/deny/0/http", "unknown key 'http'", "" },
    { "an action that is not there",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"x.com\","
            "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/a\",\"action\":\"hr.read\"}]}]}}",
            "policy:/actions", NULL, "add { \"name\": \"hr.read\"" },
    { "an action twice",
            "{\"version\":1,\"actions\":[{\"name\":\"a\",\"verdict\":\"ask\"},{\"name\":\"a\","
            "\"verdict\":\"deny\"}]}",
            "policy:/actions/1", "the action 'a' is there already", "" },
    { "requests in the host's network",
            "{\"version\":1,\"network\":{\"mode\":\"host\",\"allow\":[{\"host\":\"x.com\",\"http\":"
            "[{\"methods\":[\"GET\"],\"path\":\"/"
            "a\"}]}]},\"weaken\":[{\"what\":\"host-network\",\"reason\":\"x\"}]}",
            "policy:/network/mode", NULL, "'filtered'" },
    { "a credential for a host that is none",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x..com\"]}]}",
            "policy:/credentials/0/hosts/0", "no valid host", "" },
    { "a credential for all hosts",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"*\"]}]}",
            "policy:/credentials/0/hosts/0", "a secret goes to named ones", "" },
    { "a credential for a range",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"10.0.0.0/8\"]}]}",
            "policy:/credentials/0/hosts/0", "a secret goes to named ones", "" },
    { "a credential for no host", "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[]}]}",
            "policy:/credentials/0/hosts", "the list is empty", "" },
    { "a credential without hosts", "{\"version\":1,\"credentials\":[{\"name\":\"a\"}]}",
            "policy:/credentials/0", "the key 'hosts' is missing", "" },
    { "a place that is none",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"as\":"
            "\"cookie\"}]}",
            "policy:/credentials/0/as",
            "'cookie' is none of bearer, basic, header, query, body, sigv4", "" },
    { "a header without its name",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"as\":"
            "\"header\"}]}",
            "policy:/credentials/0", "the key 'header' is missing", "" },
    { "a query without its name",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"as\":["
            "\"bearer\",\"query\"]}]}",
            "policy:/credentials/0", "the key 'query' is missing", "" },
    { "a header that is nowhere",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"header\":\"X-"
            "Key\"}]}",
            "policy:/credentials/0", "the key 'header' says nothing", "" },
    { "a user of a bearer",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"user\":\"u\"}]"
            "}",
            "policy:/credentials/0", "the key 'user' says nothing", "" },
    { "a header with a colon",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"header\":\"X-"
            "Key:\",\"as\":\"header\"}]}",
            "policy:/credentials/0/header", "characters that cannot stand there", "" },
    { "a key that signs and is sent",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"as\":["
            "\"sigv4\",\"bearer\"]}]}",
            "policy:/credentials/0", "'sigv4' stands alone", "" },
    { "a key and its id in one variable",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"env\":\"A\","
            "\"key_env\":\"A\",\"as\":\"sigv4\"}]}",
            "policy:/credentials/0", "cannot hold both", "" },
    { "a credential twice",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"]},{\"name\":"
            "\"a\",\"hosts\":[\"y.com\"]}]}",
            "policy:/credentials/1", "the credential 'a' is there already", "" },
    { "two credentials in one variable",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"env\":\"T\",\"hosts\":[\"x.com\"]},{"
            "\"name\":\"b\",\"env\":\"T\",\"hosts\":[\"y.com\"]}]}",
            "policy:/credentials/1", "'T' has the stand-in of 'a' already", "" },
    { "a variable that is none",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"env\":\"A=B\"}"
            "]}",
            "policy:/credentials/0/env", "cannot name an environment variable", "" },
    { "a lease of nothing",
            "{\"version\":1,\"credentials\":[{\"name\":\"a\",\"hosts\":[\"x.com\"],\"lease_s\":0}]"
            "}",
            "policy:/credentials/0/lease_s", "out of range", "" },
    { "an authority by pattern", "{\"version\":1,\"network\":{\"extra_ca\":\"/etc/*.pem\"}}",
            "policy:/network/extra_ca", "is a pattern", "" },
    { "a variable that is set and has a stand-in",
            "{\"version\":1,\"environment\":{\"set\":{\"T\":\"1\"}},\"credentials\":[{\"name\":"
            "\"a\",\"env\":\"T\",\"hosts\":[\"x.com\"]}]}",
            "policy:/credentials", NULL, "" },
    { "credentials in the host's network",
            "{\"version\":1,\"network\":{\"mode\":\"host\"},\"weaken\":[{\"what\":\"host-network\","
            "\"reason\":\"x\"}],\"credentials\":[{\"name\":\"a\",\"env\":\"T\",\"hosts\":[\"x."
            "com\"]}]}",
            "policy:/network/mode", NULL, "'filtered'" },
    { "strict: two rules for one thing",
            "{\"version\":1,\"strict\":true,\"filesystem\":{\"read\":{\"deny\":[\"/"
            "a\"],\"allow\":[\"/a/"
            "\"]}}}",
            "policy:strict", NULL, "" },
};

START_TEST(a_bad_policy_gets_place_and_meaning)
{
    const struct bad_case *c = &bad_cases[_i];
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r = parse(c->json, strlen(c->json), &policy, &error);

    ck_assert_msg(r == ABX_ERR_POLICY && policy == NULL, "%s: %d", c->name, r);
    ck_assert_msg(strcmp(abx_error_get_step(error), c->step) == 0, "%s: step %s", c->name,
            abx_error_get_step(error));
    if (c->says != NULL) {
        ck_assert_msg(strncmp(abx_error_get_message(error), "p.json:", 7) == 0 &&
                              strstr(abx_error_get_message(error), c->says) != NULL,
                "%s: %s", c->name, abx_error_get_message(error));
    }
    ck_assert_msg(strstr(abx_error_get_remedy(error), c->remedy) != NULL, "%s: remedy %s", c->name,
            abx_error_get_remedy(error));
    abx_error_unref(error);
}
END_TEST

/* Valid, and refused by this build; and the same with a mistake, which is told instead. */
static const struct later_case {
    const char *name, *json, *step;
    abx_status status;
} later_cases[] = {
    { "actions",
            "{\"version\":1,\"actions\":[{\"name\":\"pay\",\"verdict\":\"ask\",\"approvers\":2,"
            "\"step_up\":"
            "true,\"scope\":[\"once\"],\"limits\":{\"per_box\":2},\"arguments\":{\"amount\":{"
            "\"type\":"
            "\"integer\",\"maximum\":5}}}]}",
            "policy:/actions/0/scope", ABX_ERR_UNSUPPORTED },
    { "actions with an unknown type",
            "{\"version\":1,\"actions\":[{\"name\":\"pay\",\"verdict\":\"ask\",\"arguments\":{"
            "\"amount\":{"
            "\"type\":\"float\"}}}]}",
            "policy:/actions/0/arguments/amount/type", ABX_ERR_POLICY },
    { "a mistake behind what is not enforced",
            "{\"version\":1,\"actions\":[{\"name\":\"a\",\"verdict\":\"ask\",\"scope\":[\"once\"]}]"
            ","
            "\"limits\":{\"memroy\":1}}",
            "policy:/limits/memroy", ABX_ERR_POLICY },
    { "empty lists of both are nothing to enforce",
            "{\"version\":1,\"credentials\":[],\"actions\":[]}", NULL, ABX_OK },
};

START_TEST(what_is_not_enforced_is_checked_and_refused)
{
    const struct later_case *c = &later_cases[_i];
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r = parse(c->json, strlen(c->json), &policy, &error);

    ck_assert_msg(r == c->status, "%s: %d %s", c->name, r, abx_error_get_message(error));
    if (c->step != NULL) {
        ck_assert_msg(strcmp(abx_error_get_step(error), c->step) == 0, "%s: step %s", c->name,
                abx_error_get_step(error));
    }
    if (r == ABX_ERR_UNSUPPORTED) {
        ck_assert_msg(strstr(abx_error_get_message(error), "not enforced by this build") != NULL,
                "%s: %s", c->name, abx_error_get_message(error));
    }
    abx_error_unref(error);
    abx_policy_unref(policy);
}
END_TEST

/* How a path is kept. */
static const struct path_case {
    const char *name, *written, *kept;
    bool is_literal;
} path_cases[] = {
    { "an absolute path", "/a/b", "/a/b", true },
    { "slashes and dots go", "//a/./b/", "/a/b", true },
    { "the home directory", "~/.ssh", "/home/u/.ssh", true },
    { "the home directory itself", "~", "/home/u", true },
    { "a variable", "${workspace}/x", "/w/x", true },
    { "the box's own directory", "${tmp}/x", "/tmp/x", true },
    { "inputs", "${inputs}", "/task/in", true },
    { "a relative path is below the workspace", "src/a", "/w/src/a", true },
    { "a relative path with a dot", "./src", "/w/src", true },
    { "a relative pattern", "*.key", "/w/*.key", false },
    { "two stars at the start are everywhere", "**/.env", "/**/.env", false },
    { "an escaped star is a star", "/a/\\\\*", "/a/*", true },
    { "a byte", "/a/\\\\xff", "/a/\xff", true },
    { "a byte that would be a star is none", "/a/\\\\x2a", "/a/*", true },
    { "a byte beside a pattern", "/a/\\\\x2a*", "/a/\\**", false },
    { "a dollar", "/a/\\\\$x", "/a/$x", true },
    { "a dollar that names nothing", "/a/$", "/a/$", true },
    { "a tilde", "\\\\~x", "/w/~x", true },
    { "an escape in a class stays", "/a/[a\\\\-z]", "/a/[a\\-z]", false },
    { "dots by bytes are dots", "/a/\\\\x2e/b", "/a/b", true },
};

static const struct rule *
first_own_rule(abx_policy *policy)
{
    const struct layer *layer = *vec_at(&policy->layers, struct layer *, 0);

    return vec_at(&layer->rules, struct rule, 0);
}

START_TEST(a_path_is_kept_in_one_spelling)
{
    const struct path_case *c = &path_cases[_i];
    char json[256];
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    const struct rule *rule;
    abx_status r;

    snprintf(json, sizeof json, "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"%s\"]}}}",
            c->written);
    r = parse(json, strlen(json), &policy, &error);
    ck_assert_msg(r == ABX_OK, "%s: %s", c->name, abx_error_get_message(error));
    rule = first_own_rule(policy);
    ck_assert_msg(strcmp(rule->pattern, c->kept) == 0, "%s: %s", c->name, rule->pattern);
    ck_assert_msg(rule->is_literal == c->is_literal, "%s", c->name);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(a_literal_entry_takes_wildcards_as_they_are)
{
    static const char json[] = "{\"version\":1,\"filesystem\":{\"write\":{\"allow\":[{\"path\":"
                               "\"/a/[b]*?\",\"literal\":true}]}}}";
    abx_policy *policy = NULL;

    ck_assert_int_eq(parse(json, strlen(json), &policy, NULL), ABX_OK);
    ck_assert_str_eq(first_own_rule(policy)->pattern, "/a/[b]*?");
    ck_assert(first_own_rule(policy)->is_literal);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(the_value_of_a_variable_is_never_a_pattern)
{
    static const char json[] = "{\"version\":1,\"variables\":{\"odd\":\"/a/[x]*\"},\"filesystem\":{"
                               "\"write\":{\"allow\":[\"${odd}/b\"]}}}";
    abx_policy *policy = NULL;

    ck_assert_int_eq(parse(json, strlen(json), &policy, NULL), ABX_OK);
    ck_assert_str_eq(first_own_rule(policy)->pattern, "/a/[x]*/b");
    abx_policy_unref(policy);
}
END_TEST

static const struct host_case {
    const char *written, *kept;
    uint32_t first, last;
} host_cases[] = {
    { "Example.COM.", "example.com", 0, 0 },
    { "example.com:443", "example.com", 443, 443 },
    { "example.com:80-90", "example.com", 80, 90 },
    { "*.example.com", "*.example.com", 0, 0 },
    { "**.example.com:8443", "**.example.com", 8443, 8443 },
    { "*", "*", 0, 0 },
    { "192.0.2.1:53", "192.0.2.1", 53, 53 },
    { "10.1.2.3/8", "10.0.0.0/8", 0, 0 },
    { "fd00::1", "fd00::1", 0, 0 },
    { "[fd00::1]:443", "fd00::1", 443, 443 },
    { "[fd00::/8]:443", "fd00::/8", 443, 443 },
    { "[fd00::1]", "fd00::1", 0, 0 },
};

START_TEST(a_host_and_its_ports_are_told_apart)
{
    const struct host_case *c = &host_cases[_i];
    char json[256];
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    const struct rule *rule;
    abx_status r;

    snprintf(json, sizeof json,
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"%s\"]}}", c->written);
    r = parse(json, strlen(json), &policy, &error);
    ck_assert_msg(r == ABX_OK, "%s: %s", c->written, abx_error_get_message(error));
    rule = first_own_rule(policy);
    ck_assert_msg(strcmp(rule->pattern, c->kept) == 0, "%s: %s", c->written, rule->pattern);
    ck_assert_msg(rule->port_first == c->first && rule->port_last == c->last, "%s", c->written);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(a_document_is_bounded)
{
    static char big[DOCUMENT_MAX + 64];
    abx_error *error = NULL;
    abx_policy *policy = NULL;
    struct str many = { 0 };
    char *text;

    memset(big, ' ', sizeof big);
    memcpy(big, "{\"version\":1}", 13);
    ck_assert_int_eq(parse(big, DOCUMENT_MAX, &policy, NULL), ABX_OK);
    abx_policy_unref(policy);
    ck_assert_int_eq(parse(big, DOCUMENT_MAX + 1, &policy, &error), ABX_ERR_POLICY);
    ck_assert(strstr(abx_error_get_message(error), "larger than") != NULL);
    abx_error_unref(error);

    memset(big, '[', 64);
    ck_assert_int_eq(parse(big, 64, &policy, &error), ABX_ERR_POLICY);
    ck_assert(strstr(abx_error_get_message(error), "nested too deep") != NULL);
    abx_error_unref(error);

    memcpy(big, "{\"name\":\"a\\\\\",\"x\":", 18);
    memset(big + 18, '[', 64);
    ck_assert_int_eq(parse(big, 18 + 64, &policy, &error), ABX_ERR_POLICY);
    ck_assert_msg(strstr(abx_error_get_message(error), "nested too deep") != NULL, "%s",
            abx_error_get_message(error));
    abx_error_unref(error);

    str_add(&many, "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/x\"");
    for (unsigned i = 0; i < RULES_MAX; i++) {
        str_printf(&many, ",\"/x/%u\"", i);
    }
    str_add(&many, "]}}}");
    text = str_steal(&many, NULL);
    ck_assert_int_eq(parse(text, strlen(text), &policy, &error), ABX_ERR_POLICY);
    ck_assert_str_eq(abx_error_get_step(error), "policy:/filesystem/read/deny/10000");
    ck_assert(strstr(abx_error_get_message(error), "more than 10000 rules") != NULL);
    abx_error_unref(error);
    free(text);
}
END_TEST

/* Where json_locate finds what a pointer names. */
static const struct place_case {
    const char *json, *pointer;
    bool key;
    size_t line, column;
} place_cases[] = {
    { "{\"a\": [1, {\"b\": 2}]}", "", false, 1, 1 },
    { "{\"a\": [1, {\"b\": 2}]}", "/a", false, 1, 7 },
    { "{\"a\": [1, {\"b\": 2}]}", "/a", true, 1, 2 },
    { "{\"a\": [1, {\"b\": 2}]}", "/a/1/b", false, 1, 17 },
    { "{\"a\": [1, {\"b\": 2}]}", "/a/1/b", true, 1, 12 },
    { "{\"a\": \"[{,\\\"\",\n \"b\": [[], [3]]}", "/b/1/0", false, 2, 13 },
    { "{\"a/b\": 1, \"c~d\": 2}", "/a~1b", false, 1, 9 },
    { "{\"a/b\": 1, \"c~d\": 2}", "/c~0d", false, 1, 19 },
    { "{\"\\u0061\": 1}", "/a", false, 1, 12 },
    { "{\"\": {\"\": 5}}", "//", false, 1, 11 },
    { "{\"a\": 1}", "/b", false, 0, 0 },
};

START_TEST(a_pointer_is_found_again_in_the_text)
{
    const struct place_case *c = &place_cases[_i];
    struct json_place place = json_locate(c->json, strlen(c->json), c->pointer, c->key);

    ck_assert_msg(place.line == c->line && place.column == c->column, "%s %s: %zu:%zu", c->json,
            c->pointer, place.line, place.column);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("parse");
    TCase *tcase = tcase_create("parse");

    tcase_add_loop_test(
            tcase, a_bad_policy_gets_place_and_meaning, 0, sizeof bad_cases / sizeof bad_cases[0]);
    tcase_add_loop_test(tcase, what_is_not_enforced_is_checked_and_refused, 0,
            sizeof later_cases / sizeof later_cases[0]);
    tcase_add_loop_test(
            tcase, a_path_is_kept_in_one_spelling, 0, sizeof path_cases / sizeof path_cases[0]);
    tcase_add_test(tcase, a_literal_entry_takes_wildcards_as_they_are);
    tcase_add_test(tcase, the_value_of_a_variable_is_never_a_pattern);
    tcase_add_loop_test(tcase, a_host_and_its_ports_are_told_apart, 0,
            sizeof host_cases / sizeof host_cases[0]);
    tcase_add_test(tcase, a_document_is_bounded);
    tcase_add_loop_test(tcase, a_pointer_is_found_again_in_the_text, 0,
            sizeof place_cases / sizeof place_cases[0]);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
