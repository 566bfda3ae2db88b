/* A stand-in for libnvidia-ml.so.1: enough of NVML for the agent, driven by a text file.
 *
 * Device memory bandwidth ("dram") and memory duty cycle ("duty") are separate figures with
 * separate defaults, so that a reader who confuses them gets visibly wrong numbers.
 *
 * NVMLSTUB_FILE names the file of orders, read again whenever it changes. One order a line, the
 * card is a number or *:
 *   count N             cards that the driver shows             init CODE      what nvmlInit says
 *   card C CODE         every call on the card fails            handle C CODE  finding it fails
 *   util C CODE  gpm C CODE  samples C CODE  memory2 C CODE  ecc C CODE   those calls fail
 *   swap A B            two cards change their index            reload N       a changed N makes
 *                                                               all handles stale until re-init
 *   dram C PCT  sm C PCT  tensor C PCT  graphics C PCT          GPM figures (nan allowed)
 *   gpu C PCT  duty C PCT  clock C MHZ  clockmax C MHZ          NVML duty cycles, memory clock
 *   nogpm C             the card has no GPM                     mig C N        N MIG instances
 *   vgpu C              the card is a guest's                   power2 C CODE  power fails
 *   used C MIB  reserved C MIB  power C MW  throttle C BITS     xid C CODE (each line once)
 *   eccc C N  eccu C N  ECC counters                            pids C P1,P2   running processes
 *   hang C MS           each call on the card takes so long     pcie_ms MS     PCIe calls block
 *   minspan MS          least span of a GPM pair, 100 as in the real library
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CARDS 64
#define SLICES 8
#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7,
       TIMEOUT = 10, UNKNOWN = 999 };
enum { DRAM, SM, TENSOR, GRAPHICS, RATES };

struct card {
    int number, slice, gpm_support, fail, handle_fail, util_fail, gpm_fail, samples_fail, memory2_fail,
        ecc_fail, power_fail, mig, vgpu, hang_ms, xid, pids[16], pid_count;
    double rate[RATES], integral[RATES], since;
    double gpu, duty;
    unsigned clock, clock_max, power_mw;
    unsigned long long used_mib, reserved_mib, total_mib, throttle, ecc_corrected, ecc_uncorrected;
};

struct sample { double at, integral[RATES]; };

static struct card cards[CARDS], slices[CARDS][SLICES];
static int order[CARDS], count = 8, init_code, initialised, reload, reload_at_init, pcie_ms, min_span_ms;
static struct timespec file_time;
static double checked;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double wall(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void settle(struct card *c) {
    double t = now();
    for (int i = 0; i < RATES; i++)
        if (!isnan(c->rate[i])) c->integral[i] += c->rate[i] * (t - c->since);
    c->since = t;
}

static void defaults(struct card *c, int number, int slice) {
    int xid = c->xid;
    double kept[RATES], since = c->since;
    memcpy(kept, c->integral, sizeof kept);
    memset(c, 0, sizeof *c);
    memcpy(c->integral, kept, sizeof kept);
    c->since = since;
    c->xid = xid;
    c->number = number;
    c->slice = slice;
    c->gpm_support = 1;
    c->rate[DRAM] = 20 + number % 8;
    c->rate[SM] = 80;
    c->rate[TENSOR] = 40;
    c->rate[GRAPHICS] = 95;
    c->gpu = 90;
    c->duty = 60 + number % 8;
    c->clock = c->clock_max = 2619;
    c->power_mw = 500000;
    c->used_mib = 40000;
    c->reserved_mib = 479;
    c->total_mib = 81559;
    c->throttle = 0;
    if (slice >= 0) { c->used_mib = 1000; c->total_mib = 9984; c->rate[DRAM] = 5 + slice; }
}

static void obey(char *line) {
    char word[32], rest[200];
    if (sscanf(line, "%31s %199[^\n]", word, rest) != 2) return;
    if (!strcmp(word, "count")) { count = atoi(rest); return; }
    if (!strcmp(word, "init")) { init_code = atoi(rest); return; }
    if (!strcmp(word, "reload")) { reload = atoi(rest); return; }
    if (!strcmp(word, "minspan")) { min_span_ms = atoi(rest); return; }
    if (!strcmp(word, "pcie_ms")) { pcie_ms = atoi(rest); return; }
    if (!strcmp(word, "swap")) {
        int a, b;
        if (sscanf(rest, "%d %d", &a, &b) == 2) { int t = order[a]; order[a] = order[b]; order[b] = t; }
        return;
    }
    char which[16], value[160] = "1";
    if (sscanf(rest, "%15s %159s", which, value) < 1) return;
    for (int i = 0; i < CARDS; i++) {
        if (strcmp(which, "*") && atoi(which) != i) continue;
        struct card *c = &cards[i];
        double v = !strcmp(value, "nan") ? NAN : atof(value);
        int n = atoi(value);
        if (!strcmp(word, "card")) c->fail = n;
        else if (!strcmp(word, "handle")) c->handle_fail = n;
        else if (!strcmp(word, "util")) c->util_fail = n;
        else if (!strcmp(word, "gpm")) c->gpm_fail = n;
        else if (!strcmp(word, "samples")) c->samples_fail = n;
        else if (!strcmp(word, "memory2")) c->memory2_fail = n;
        else if (!strcmp(word, "power2")) c->power_fail = n;
        else if (!strcmp(word, "ecc")) c->ecc_fail = n;
        else if (!strcmp(word, "nogpm")) c->gpm_support = 0;
        else if (!strcmp(word, "dram")) c->rate[DRAM] = v;
        else if (!strcmp(word, "sm")) c->rate[SM] = v;
        else if (!strcmp(word, "tensor")) c->rate[TENSOR] = v;
        else if (!strcmp(word, "graphics")) c->rate[GRAPHICS] = v;
        else if (!strcmp(word, "gpu")) c->gpu = v;
        else if (!strcmp(word, "duty")) c->duty = v;
        else if (!strcmp(word, "clock")) c->clock = n;
        else if (!strcmp(word, "clockmax")) c->clock_max = n;
        else if (!strcmp(word, "used")) c->used_mib = n;
        else if (!strcmp(word, "reserved")) c->reserved_mib = n;
        else if (!strcmp(word, "power")) c->power_mw = n;
        else if (!strcmp(word, "throttle")) c->throttle = n;
        else if (!strcmp(word, "eccc")) c->ecc_corrected = n;
        else if (!strcmp(word, "eccu")) c->ecc_uncorrected = n;
        else if (!strcmp(word, "mig")) c->mig = n;
        else if (!strcmp(word, "vgpu")) c->vgpu = n;
        else if (!strcmp(word, "hang")) c->hang_ms = n;
        else if (!strcmp(word, "xid")) c->xid = n;
        else if (!strcmp(word, "pids")) {
            for (char *p = strtok(value, ","); p && c->pid_count < 16; p = strtok(NULL, ","))
                c->pids[c->pid_count++] = atoi(p);
        }
    }
}

static void reread(int force) {
    const char *path = getenv("NVMLSTUB_FILE");
    struct stat s;
    double t = now();
    if (!force && t - checked < 0.02) return;
    checked = t;
    int there = path && stat(path, &s) == 0;
    struct timespec changed = {0, 0};
    if (there) changed = s.st_mtim;
    if (!force && changed.tv_sec == file_time.tv_sec && changed.tv_nsec == file_time.tv_nsec) return;
    file_time = changed;
    count = 8; init_code = 0; reload = 0; pcie_ms = 0; min_span_ms = 100;
    for (int i = 0; i < CARDS; i++) {
        settle(&cards[i]);
        defaults(&cards[i], i, -1);
        cards[i].xid = 0;
        order[i] = i;
        for (int j = 0; j < SLICES; j++) { settle(&slices[i][j]); defaults(&slices[i][j], i, j); }
    }
    FILE *f = there ? fopen(path, "r") : NULL;
    if (!f) return;
    char line[256];
    while (fgets(line, sizeof line, f)) obey(line);
    fclose(f);
}

static int check(struct card *c) {
    reread(0);
    if (!initialised) return UNINITIALIZED;
    if (reload != reload_at_init) return UNKNOWN;
    if (c->hang_ms) usleep(c->hang_ms * 1000);
    return cards[c->number].fail;
}

EXPORT int nvmlInitWithFlags(unsigned flags) {
    reread(!initialised);
    if (init_code) return init_code;
    initialised++;
    reload_at_init = reload;
    return OK;
}
EXPORT int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
EXPORT int nvmlShutdown(void) { if (!initialised) return UNINITIALIZED; initialised--; return OK; }
EXPORT const char *nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "stub error"; }
EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "580.stub"); return OK; }
EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned n) { snprintf(out, n, "13.580.stub"); return OK; }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 13000; return OK; }
EXPORT int nvmlSystemGetCudaDriverVersion(int *v) { *v = 13000; return OK; }

EXPORT int nvmlDeviceGetCount_v2(unsigned *out) {
    reread(0);
    if (!initialised) return UNINITIALIZED;
    if (reload != reload_at_init) return UNKNOWN;
    *out = count;
    return OK;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct card **out) {
    reread(0);
    if (!initialised) return UNINITIALIZED;
    if (i >= (unsigned)count) return INVALID;
    *out = &cards[order[i]];
    return (*out)->handle_fail;
}
EXPORT int nvmlDeviceGetUUID(struct card *c, char *out, unsigned n) {
    int e = check(c);
    if (e) return e;
    if (c->slice < 0) snprintf(out, n, "GPU-5b1ade00-0000-4000-8000-%012d", c->number);
    else snprintf(out, n, "MIG-5b1ade00-0000-4000-8%03d-%012d", c->slice, c->number);
    return OK;
}
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct card **out) {
    char mine[96];
    reread(0);
    for (int i = 0; i < count; i++) {
        snprintf(mine, sizeof mine, "GPU-5b1ade00-0000-4000-8000-%012d", order[i]);
        if (!strcmp(mine, uuid)) { *out = &cards[order[i]]; return (*out)->handle_fail; }
    }
    return NOT_FOUND;
}
EXPORT int nvmlDeviceGetName(struct card *c, char *out, unsigned n) {
    int e = check(c);
    if (e) return e;
    snprintf(out, n, c->slice < 0 ? "NVIDIA H100 80GB HBM3" : "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
    return OK;
}
EXPORT int nvmlDeviceGetIndex(struct card *c, unsigned *out) {
    for (int i = 0; i < count; i++) if (order[i] == c->number) *out = i;
    return check(c);
}
EXPORT int nvmlDeviceGetMinorNumber(struct card *c, unsigned *out) { *out = 63 - c->number; return check(c); }

struct memory { unsigned long long total, free, used; };
struct memory2 { unsigned version; unsigned long long total, reserved, free, used; };
EXPORT int nvmlDeviceGetMemoryInfo(struct card *c, struct memory *m) {
    int e = check(c);
    m->total = c->total_mib << 20;
    m->used = (c->used_mib + c->reserved_mib) << 20;
    m->free = m->total - m->used;
    return e;
}
EXPORT int nvmlDeviceGetMemoryInfo_v2(struct card *c, struct memory2 *m) {
    int e = check(c);
    if (!e) e = c->memory2_fail;
    m->total = c->total_mib << 20;
    m->used = c->used_mib << 20;
    m->reserved = c->reserved_mib << 20;
    m->free = m->total - m->used - m->reserved;
    return e;
}
EXPORT int nvmlDeviceGetUtilizationRates(struct card *c, unsigned out[2]) {
    int e = check(c);
    if (!e) e = cards[c->number].util_fail;
    if (!e && (c->mig || c->slice >= 0)) e = NOT_SUPPORTED;
    out[0] = c->gpu;
    out[1] = c->duty;
    return e;
}
struct nv_sample { unsigned long long at; union { double d; unsigned u; unsigned long long l; } value; };
EXPORT int nvmlDeviceGetSamples(struct card *c, int type, unsigned long long last, int *value_type,
                                unsigned *n, struct nv_sample *out) {
    /* a driver period of 1/6 s; about 16 s of history */
    int e = check(c);
    if (!e) e = cards[c->number].samples_fail;
    if (!e && (c->mig || c->slice >= 0)) e = NOT_SUPPORTED;
    if (e) return e;
    unsigned long long newest = (unsigned long long)(wall() * 6), first = newest - 99;
    if (last) {
        unsigned long long seen = (last * 6 + 999999) / 1000000;
        if (seen + 1 > first) first = seen + 1;
    }
    if (first > newest) return NOT_FOUND;
    *value_type = 1;
    if (out) {
        unsigned got = 0;
        for (unsigned long long i = first; i <= newest && got < *n; i++, got++) {
            out[got].at = i * 1000000 / 6;
            out[got].value.l = 0;
            /* swings around the mean, so that one point is not the answer */
            double mean = type == 2 ? c->duty : c->gpu, swing = mean < 10 ? 0 : i % 2 ? 6 : -6;
            double v = mean + swing;
            out[got].value.u = v > 100 ? 100 : v;
        }
        *n = got;
    } else *n = newest - first + 1;
    return OK;
}
EXPORT int nvmlDeviceGetPowerUsage(struct card *c, unsigned *out) {
    int e = check(c);
    *out = c->power_mw;
    return e ? e : c->slice >= 0 ? NOT_SUPPORTED : cards[c->number].power_fail;
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct card *c, unsigned *out) { *out = 700000; return check(c); }
EXPORT int nvmlDeviceGetTemperature(struct card *c, int sensor, unsigned *out) { *out = 50 + c->number; return check(c); }
EXPORT int nvmlDeviceGetClockInfo(struct card *c, int type, unsigned *out) {
    *out = type == 2 ? c->clock : 1980;
    return check(c);
}
EXPORT int nvmlDeviceGetMaxClockInfo(struct card *c, int type, unsigned *out) {
    *out = type == 2 ? c->clock_max : 1980;
    return check(c);
}
EXPORT int nvmlDeviceGetMemoryBusWidth(struct card *c, unsigned *out) { *out = 5120; return check(c); }
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct card *c, unsigned long long *out) {
    *out = c->throttle;
    return check(c);
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct card *c, unsigned long long *out) {
    return nvmlDeviceGetCurrentClocksEventReasons(c, out);
}
EXPORT int nvmlDeviceGetTotalEccErrors(struct card *c, int kind, int counter, unsigned long long *out) {
    int e = check(c);
    *out = kind ? c->ecc_uncorrected : c->ecc_corrected;
    return e ? e : c->ecc_fail;
}
EXPORT int nvmlDeviceGetPcieThroughput(struct card *c, int counter, unsigned *out) {
    usleep(pcie_ms * 1000);
    *out = 1000;
    return check(c);
}

struct field { unsigned id, scope; long long at, latency; unsigned type, result; union { unsigned long long l; double d; } value; };
EXPORT int nvmlDeviceGetFieldValues(struct card *c, int n, struct field *f) {
    int e = check(c);
    if (e) return e;
    for (int i = 0; i < n; i++) {
        f[i].at = (long long)(wall() * 1e6);
        f[i].type = 3;
        f[i].result = OK;
        double t = now();
        if (f[i].id == 197) f[i].value.l = t * 7e8;                     /* bytes sent */
        else if (f[i].id == 198) f[i].value.l = t * 9e8;
        else if (f[i].id == 138) f[i].value.l = t * 2e6;                /* KiB sent */
        else if (f[i].id == 139) f[i].value.l = t * 3e6;
        else f[i].result = NOT_SUPPORTED;
    }
    return OK;
}

struct process { unsigned pid; unsigned long long used; unsigned gi, ci; };
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct card *c, unsigned *n, struct process *out) {
    int e = check(c);
    if (e) return e;
    if (!out) { *n = c->pid_count; return c->pid_count ? TOO_SMALL : OK; }
    *n = c->pid_count;
    for (int i = 0; i < c->pid_count; i++) {
        out[i].pid = c->pids[i];
        out[i].used = 1000ull << 20;
        out[i].gi = out[i].ci = ~0u;
    }
    return OK;
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(struct card *c, unsigned *n, struct process *out) { *n = 0; return check(c); }

/* MIG */
EXPORT int nvmlDeviceGetMigMode(struct card *c, unsigned *current, unsigned *pending) {
    *current = *pending = c->mig > 0;
    return check(c);
}
EXPORT int nvmlDeviceGetVirtualizationMode(struct card *c, int *out) { *out = c->vgpu ? 2 : 0; return check(c); }
EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct card *c, unsigned *out) { *out = 7; return check(c); }
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct card *c, unsigned i, struct card **out) {
    int e = check(c);
    if (e) return e;
    if (i >= (unsigned)c->mig) return NOT_FOUND;
    *out = &slices[c->number][i];
    return OK;
}
EXPORT int nvmlDeviceGetGpuInstanceId(struct card *c, unsigned *out) { *out = c->slice + 1; return check(c); }
EXPORT int nvmlDeviceGetComputeInstanceId(struct card *c, unsigned *out) { *out = 0; return check(c); }

/* GPM */
struct support { unsigned version, supported; };
EXPORT int nvmlGpmQueryDeviceSupport(struct card *c, struct support *s) {
    s->supported = c->gpm_support;
    return check(c);
}
EXPORT int nvmlGpmSampleAlloc(struct sample **out) { *out = calloc(1, 4096); return OK; }
EXPORT int nvmlGpmSampleFree(struct sample *s) { free(s); return OK; }
static int gpm_sample(struct card *c, struct sample *s) {
    int e = check(c);
    if (!e) e = cards[c->number].gpm_fail;
    if (!e && !cards[c->number].gpm_support) e = NOT_SUPPORTED;
    if (e) return e;
    settle(c);
    s->at = c->since;
    for (int i = 0; i < RATES; i++) s->integral[i] = isnan(c->rate[i]) ? NAN : c->integral[i];
    return OK;
}
EXPORT int nvmlGpmSampleGet(struct card *c, struct sample *s) { return c->mig ? NOT_SUPPORTED : gpm_sample(c, s); }
EXPORT int nvmlGpmMigSampleGet(struct card *c, unsigned gi, struct sample *s) {
    if (gi < 1 || gi > (unsigned)c->mig) return NOT_FOUND;
    return gpm_sample(&slices[c->number][gi - 1], s);
}
struct metric { unsigned id; int result; double value; char *short_name, *long_name, *unit; };
struct metrics { unsigned version, n; struct sample *a, *b; struct metric list[]; };
EXPORT int nvmlGpmMetricsGet(struct metrics *m) {
    if (m->version != 1) return 25;
    double span = m->b->at - m->a->at;
    for (unsigned i = 0; i < m->n; i++) {
        struct metric *x = &m->list[i];
        x->result = OK;
        int which = x->id == 10 ? DRAM : x->id == 2 ? SM : x->id == 5 ? TENSOR : x->id == 1 ? GRAPHICS : -1;
        if (span * 1000 < min_span_ms) x->value = NAN;
        else if (which >= 0) x->value = (m->b->integral[which] - m->a->integral[which]) / span;
        else if (x->id == 20 || x->id == 21) x->value = 100 + x->id;      /* MiB/s */
        else if (x->id == 60 || x->id == 61) x->value = 5000 + x->id;
        else x->result = NOT_SUPPORTED;
    }
    return OK;
}

/* Events */
static int set;
EXPORT int nvmlEventSetCreate(void **out) { *out = &set; return OK; }
EXPORT int nvmlEventSetFree(void *s) { return OK; }
EXPORT int nvmlDeviceGetSupportedEventTypes(struct card *c, unsigned long long *out) { *out = 8; return check(c); }
EXPORT int nvmlDeviceRegisterEvents(struct card *c, unsigned long long types, void *s) { return check(c); }
struct event { struct card *card; unsigned long long type, data; unsigned gi, ci; };
EXPORT int nvmlEventSetWait_v2(void *s, struct event *e, unsigned ms) {
    reread(0);
    for (int i = 0; i < CARDS; i++)
        if (cards[i].xid) {
            e->card = &cards[i];
            e->type = 8;
            e->data = cards[i].xid;
            e->gi = e->ci = ~0u;
            cards[i].xid = 0;
            return OK;
        }
    return TIMEOUT;
}
