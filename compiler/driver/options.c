/* SPDX-License-Identifier: Apache-2.0
 *
 * driver/options.c - reading the command line: getopt_long, by the table options.def.
 */
#include "driver/option_table.h"

#include <string.h>

enum { LONG = 256 /* getopt_long returns this and the option's place for a long one: past every letter */ };

/* What getopt_long returned for the option in 'word', or wants to know the name of. */
static const ChmOption *find_option(int code)
{
    if (code >= LONG)
        return &chm_option_table[code - LONG];
    for (int k = 0; k < CHM_NOPTIONS; k++) {
        if (code && chm_option_table[k].letter == code)
            return &chm_option_table[k];
    }
    return NULL;
}

/* "--emti", "--verify", "-emit=ir", "-z" */
static bool unknown_option(ChmCommandLine *p, const char *word, const ChmOption *abbreviated)
{
    bool is_long = word[1] == '-';
    const char *known[CHM_NOPTIONS], *name = chm_arena_strndup(p->arena, word, strcspn(word, "="));
    int n = 0;
    for (int k = 0; k < CHM_NOPTIONS; k++) {
        const char *as_long = chm_option_table[k].name;
        if (!as_long)
            continue;
        if (!is_long && strncmp(word + 1, as_long, strlen(as_long)) == 0)
            return chm_options_unknown(p, "option", word, chm_arena_printf(p->arena, "-%s", word));
        known[n++] = chm_arena_printf(p->arena, "--%s", as_long);
    }
    if (!is_long)
        return chm_options_unknown(p, "option", chm_arena_printf(p->arena, "-%c", optopt), NULL);
    const char *meant = abbreviated ? chm_arena_printf(p->arena, "--%s", abbreviated->name) : NULL;
    return chm_options_unknown(p, "option", name, meant ? meant : chm_did_you_mean(name, known, n));
}

static bool read_option(ChmCommandLine *p, int code, const char *word)
{
    bool failed = code == '?' || code == ':', is_long = word[1] == '-';
    const ChmOption *option = find_option(failed ? optopt : code);
    if (!option || (is_long && strcspn(word + 2, "=") != strlen(option->name)))
        return unknown_option(p, word, option);
    const char *spelled =
        is_long ? chm_arena_printf(p->arena, "--%s", option->name) : chm_arena_printf(p->arena, "-%c", option->letter);
    if (code == '?')
        return chm_options_wrong(p, "'%s' takes no value", spelled);
    if (code == ':' || (option->argument == CHM_ATTACHED && !optarg))
        return chm_options_wrong(p, "'%s' needs a value: %s%c%s", spelled, spelled, is_long ? '=' : ' ',
                                 option->metavar);
    if (!(option->commands & CHM_COMMAND_COMPILE))
        p->only_of[0] = spelled;
    if (!(option->commands & CHM_COMMAND_RUN))
        p->only_of[1] = spelled;
    return option->take(p, optarg);
}

static bool read_name(ChmCommandLine *p, const char *word, bool may_be_command)
{
    bool run = strcmp(word, "run") == 0;
    if (may_be_command && !p->command_seen && !p->o->input && (run || strcmp(word, "compile") == 0)) {
        p->command_seen = true;
        p->o->command = run ? CHM_COMMAND_RUN : CHM_COMMAND_COMPILE;
        return true;
    }
    if (p->o->input)
        return chm_options_wrong(p, "one input file at a time: '%s' and '%s'", p->o->input, word);
    p->o->input = word;
    return true;
}

/* The table as getopt_long wants it: names in order ('-'), and silence (':'). */
static void make_tables(char *letters, struct option *names)
{
    *letters++ = '-';
    *letters++ = ':';
    for (int k = 0; k < CHM_NOPTIONS; k++) {
        const ChmOption *o = &chm_option_table[k];
        if (o->name)
            *names++ = (struct option){o->name, (int)o->argument, NULL, LONG + k};
        if (o->letter)
            *letters++ = o->letter;
        for (int colons = o->letter ? (int)o->argument : 0; colons > 0; colons--)
            *letters++ = ':';
    }
    *letters = '\0';
    *names = (struct option){NULL, 0, NULL, 0};
}

static bool read_words(ChmCommandLine *p, int argc, char **argv)
{
    char letters[3 * CHM_NOPTIONS + 3];
    struct option names[CHM_NOPTIONS + 1];
    make_tables(letters, names);
    optind = 0; /* from the start, also where a run before ended in the middle of a word */
    for (int i = 1, code; (code = getopt_long(argc, argv, letters, names, NULL)) != -1; i = optind) {
        const char *word = argv[i]; /* the same for each letter of "-qo" */
        if (!(code == 1 ? read_name(p, word, true) : read_option(p, code, word)))
            return false;
    }
    for (; optind < argc; optind++) { /* after "--" */
        if (!read_name(p, argv[optind], false))
            return false;
    }
    return true;
}

static bool makes_pipelines(const ChmOptions *o)
{
    for (int32_t i = 0; i < o->passes.len; i++) {
        if (strcmp(o->passes.at[i]->name, "pipeline") == 0)
            return true;
    }
    return !o->passes_given && o->level >= 3;
}

static bool check(ChmCommandLine *p)
{
    ChmOptions *o = p->o;
    if (o->show != CHM_SHOW_NOTHING)
        return true;
    if (o->command == CHM_COMMAND_COMPILE && p->only_of[0])
        return chm_options_wrong(p, "'%s' is an option of 'chimerac run' only", p->only_of[0]);
    if (o->command == CHM_COMMAND_RUN && p->only_of[1])
        return chm_options_wrong(p, "'%s' has no meaning for 'chimerac run'", p->only_of[1]);
    if (!o->input)
        return chm_options_wrong(p, "no input file");
    if (o->language == CHM_LANGUAGE_BY_NAME) {
        size_t n = strlen(o->input);
        bool is_ir = n > 3 && strcmp(o->input + n - 3, ".ir") == 0;
        o->language = is_ir ? CHM_LANGUAGE_IR : CHM_LANGUAGE_PLAN;
    }
    if (o->topology && strcmp(o->topology, "-") == 0 && strcmp(o->input, "-") == 0)
        return chm_options_wrong(p, "the plan and its topology cannot both be read from standard input");
    if (o->language == CHM_LANGUAGE_IR && o->defines.len > 0 && !o->topology)
        return chm_options_wrong(p, "'-D' sets a 'param' of a plan; IR has none");
    if (o->language == CHM_LANGUAGE_IR && o->command == CHM_COMMAND_COMPILE && !o->emit)
        return chm_options_wrong(p, "'--emit=ast' prints the syntax tree of a plan; IR has none");
    if (o->chunks && !makes_pipelines(o))
        return chm_options_wrong(p, "'--chunks' is for the pass 'pipeline', which -O3 runs");
    if (o->driver && (!o->emit || !o->emit->takes_driver))
        return chm_options_wrong(p, "'--driver' adds a main to '--emit=c' only");
    return true;
}

ChmStatus chm_options_parse(ChmArena *arena, int argc, char **argv, ChmOptions *o, ChmOut *err)
{
    *o = (ChmOptions){.command = CHM_COMMAND_COMPILE, .output = "-", .level = 2, .seed = 1};
    o->emit = chm_emitter_find("c");
#ifndef NDEBUG
    o->verify_each = true;
#endif
    ChmCommandLine p = {.arena = arena, .o = o, .err = err};
    if (read_words(&p, argc, argv) && check(&p))
        return CHM_OK;
    chm_out_puts(err, "chimerac: note: 'chimerac --help' shows how it is used\n");
    return CHM_ERR_USAGE;
}
