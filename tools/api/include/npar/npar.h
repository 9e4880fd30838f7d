/* npar as a library: compile a model with its parallel plan, look at the result, verify it, train.
 *
 * Results      Every function that can fail returns an npar_code and takes an npar_error ** as its last argument, which may be null. After
 * a failure it owns an error object (npar_error_free); its outputs are untouched. Ownership    A function that fills a `T **` gives an
 * object to the caller, who frees it with npar_..._free. All of these accept null. Objects can be freed in any order: what still needs
 * another object holds it. Strings      npar_str: UTF-8 with a length, not terminated. As an argument it is read during the call only. As a
 * result it belongs to the object that it came from. Options      A struct of options begins with `struct_size`; set it to sizeof, and all
 * other members to zero: zero means the default. Threads      An npar_program never changes: any number of threads may use it at once. An
 * npar_trainer is for one thread at a time, except npar_trainer_stop, which any thread and any signal handler may call, as they may call
 * npar_stop_request. An npar_buffer and an npar_error never change. Callbacks    They come on the thread that called the library, between
 * two phases or steps, and no lock is held. They may call every function of this header except functions of the trainer that is calling.
 * They must not throw. The process  The library never prints, exits, forks, changes the environment, the working folder or the limits of
 * threads, and it installs no signal handler. Open content What grows from version to version is JSON with a member `schema`, described by
 * share/npar/schemas: see STABILITY.md.
 */
#ifndef NPAR_NPAR_H
#define NPAR_NPAR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NPAR_API __attribute__((visibility("default")))
#else
#define NPAR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ------------------------------------------------------------------------------------------------------------------------ */

/* The version of the binary interface that this header describes: major << 16 | minor. A library fits a header of the same major and of a
 * minor that is not above its own. */
#define NPAR_ABI 0x00000004u

typedef struct npar_str {
  const char *ptr;
  size_t len;
} npar_str;

typedef int32_t npar_code;
enum {
  NPAR_OK = 0,
  NPAR_BAD_INPUT = 1,    /* a model text, data, weights, an array or a compiled program */
  NPAR_USAGE = 2,        /* arguments that do not fit together */
  NPAR_CHECK_FAILED = 3, /* a check found a difference */
  NPAR_RUN_FAILED = 4,   /* memory, files or processes while something ran */
  NPAR_TIMEOUT = 5,
  NPAR_INTERNAL = 6, /* a fault of npar */
  NPAR_STOPPED = 7   /* an observer, an npar_stop or npar_trainer_stop ended it */
};

typedef struct npar_error npar_error;
typedef struct npar_buffer npar_buffer;
typedef struct npar_program npar_program;
typedef struct npar_trainer npar_trainer;
typedef struct npar_stop npar_stop;

/* The version of the interface that the library has. */
NPAR_API uint32_t npar_abi(void);
/* The version of npar, such as "0.1". */
NPAR_API npar_str npar_version(void);
/* Fails with NPAR_USAGE, in words, if the library does not fit a header of this NPAR_ABI. */
NPAR_API npar_code npar_check_abi(uint32_t abi, npar_error **error);

/* ---- Errors and buffers -------------------------------------------------------------------------------------------------------------- */

/* One sentence, perhaps with lines of help, or the lines of all located errors of a text, each with its file, line, caret and helps.
 * Without a newline at its end. */
NPAR_API npar_str npar_error_text(const npar_error *error);
/* {schema, code, message, diagnostics: [{severity, message, at: {file, begin, end, line, column}, notes: [...], fixes: [{title, trust,
 * edits: [{file, begin, end, text}]}]}]}; begin and end count bytes of the file's text. */
NPAR_API npar_str npar_error_json(const npar_error *error);
NPAR_API npar_code npar_error_code(const npar_error *error);
NPAR_API void npar_error_free(npar_error *error);

NPAR_API npar_str npar_buffer_data(const npar_buffer *buffer);
/* 0 if the buffer is a report of npar_verify in which a check found a difference; else 1. */
NPAR_API int32_t npar_buffer_ok(const npar_buffer *buffer);
NPAR_API void npar_buffer_free(npar_buffer *buffer);

/* ---- Observers ----------------------------------------------------------------------------------------------------------------------- */

typedef int32_t npar_event_kind;
enum {
  NPAR_EVENT_PHASE = 1,     /* a part of the work begins, such as a compiler pass */
  NPAR_EVENT_REMARK = 2,    /* a sentence that the user should read */
  NPAR_EVENT_WARNING = 3,   /* located warnings about a text, as in npar_error_text */
  NPAR_EVENT_STEP = 4,      /* a training step is done: `step` */
  NPAR_EVENT_EVALUATED = 5, /* an evaluation is done: `text` is its JSON */
  NPAR_EVENT_SAVED = 6,     /* a checkpoint is complete: `text` is its folder */
  NPAR_EVENT_CANDIDATE = 7, /* a search has judged a plan: `text` names it, `candidate` has its figures */
  NPAR_EVENT_TOKEN = 8      /* a token was generated: `done` is its id, `text` its text if a tokenizer is known */
};

typedef struct npar_named_value {
  npar_str name;
  double value;
  int64_t counted; /* positions of the batch that count; -1: all */
} npar_named_value;

/* One finished step. Set struct_size before npar_trainer_step, which fills as many bytes. A program that only goes forward has no gradient
 * norm, learning rate and loss scale, and one for generation no loss: they are 0. */
typedef struct npar_step_result {
  uint32_t struct_size;
  int32_t skipped; /* 1: the gradient norm is not finite, and nothing was updated */
  int64_t step;    /* counted from 0 */
  double loss, grad_norm, learning_rate;
  double loss_scale;    /* of fp16, else 0 */
  int64_t valid_tokens; /* targets of the batch that count; -1: all */
  double seconds;
  size_t loss_count; /* named losses; valid until the next call with this trainer */
  const npar_named_value *losses;
} npar_step_result;

/* A plan that a search has compiled and simulated. */
typedef struct npar_candidate {
  uint32_t struct_size;
  int32_t fits;        /* 1: it fits the machine's memory, or the machine states none */
  npar_str plan;       /* a text to compile, as in the report of npar_plan */
  npar_str refusal;    /* why it cannot be compiled or placed; empty: it can, and has figures */
  double milliseconds; /* predicted for a step */
  int64_t bytes;       /* of the largest rank */
} npar_candidate;

typedef struct npar_event {
  uint32_t struct_size;
  npar_event_kind kind;
  npar_str text;
  int64_t done, total; /* of what the work counts: kernels, candidates, steps; total 0: unknown */
  const npar_step_result *step;
  const npar_candidate *candidate;
} npar_event;

/* Returns 0 to go on. Any other value ends the work after the current part with NPAR_STOPPED; what is done stays valid. */
typedef int (*npar_observe)(void *user, const npar_event *event);

typedef struct npar_observer {
  npar_observe call; /* null: nobody hears of anything */
  void *user;
} npar_observer;

/* ---- Stopping ------------------------------------------------------------------------------------------------------------------------ */

/* A request to stop, for calls that take an npar_request. It must live until these calls have ended. */
NPAR_API npar_code npar_stop_create(npar_stop **stop, npar_error **error);
/* Asks all calls that were given `stop`, those in progress and later ones, to end with NPAR_STOPPED after their current part: a pass, a
 * kernel, a step of a verification, a sample of a simulation. Any thread or signal handler may call it. */
NPAR_API void npar_stop_request(npar_stop *stop);
NPAR_API void npar_stop_free(npar_stop *stop);

/* ---- Programs ------------------------------------------------------------------------------------------------------------------------ */

typedef int32_t npar_kind;
enum {
  NPAR_TRAINING = 0,
  NPAR_EVALUATION = 1, /* forward only: losses, metrics, outputs */
  NPAR_GENERATION = 2  /* forward only: logits of the next token */
};

typedef struct npar_setting {
  npar_str key, value;
} npar_setting;

/* Looks up the text of an `import` by its name, before the folders and the standard library. Returns 1 and sets *text, whose ptr is not
 * null and which must stay valid until the compilation ends, or 0. */
typedef int (*npar_import)(void *user, npar_str name, npar_str *text);

/* What to compile: exactly one of `text`, `file` and `folder`. */
typedef struct npar_request {
  uint32_t struct_size;
  npar_kind kind;
  npar_str text;   /* a model text */
  npar_str name;   /* what messages call it; default "<text>" */
  npar_str file;   /* path of a model text or of a compiled program, or the name of a model of the standard library */
  npar_str folder; /* a Hugging Face folder with a config.json, or a folder of checkpoints that npar wrote */
  npar_import import;
  void *import_user;
  npar_str plan, train, config; /* names; default: the text's only one. plan "none": one rank */
  const npar_setting *settings;
  size_t setting_count;
  npar_str machine; /* name, path or text (with braces) of the machine to plan for, such as "dgx-a100"; default: the reference machine,
                     * which is one host: npar_simulate and npar_plan over several hosts need another */
  const npar_str *targets; /* further devices to compile for: "cuda:sm_80", "cuda:sm_86", "cuda:sm_89" or "cuda:sm_90" */
  size_t target_count;
  int32_t without_kernels; /* 1: a program to look at, which cannot run */
  npar_observer observer;
  npar_stop *stop; /* ends the call when it is asked to; null: only the observer does */
} npar_request;

/* Compiles. Needs libnpar_compiler beside libnpar, which is opened on the first call. */
NPAR_API npar_code npar_compile(const npar_request *request, npar_program **program, npar_error **error);
/* Opens a compiled program (.npx). It holds native code: open only what you would execute. */
NPAR_API npar_code npar_program_open(npar_str path, npar_program **program, npar_error **error);
/* The same from memory, which is copied. */
NPAR_API npar_code npar_program_from_bytes(const void *bytes, size_t size, npar_program **program, npar_error **error);
/* The bytes of the .npx file; they belong to the program. */
NPAR_API npar_str npar_program_bytes(const npar_program *program);
/* Writes the .npx file: whole, or not at all. */
NPAR_API npar_code npar_program_save(const npar_program *program, npar_str path, npar_error **error);
/* The warnings of its compilation, in the form of npar_error_json's `diagnostics`; [] for an opened program. */
NPAR_API npar_str npar_program_warnings(const npar_program *program);
/* Another reference to the same program, to be freed as well. */
NPAR_API npar_program *npar_program_retain(npar_program *program);
NPAR_API void npar_program_free(npar_program *program);

typedef int32_t npar_view;
enum {
  NPAR_VIEW_SUMMARY = 0,    /* numbers of parameters; sizes, work and communication of each class of ranks: text, JSON */
  NPAR_VIEW_WHY = 1,        /* the reason of each collective, the largest first: text, JSON */
  NPAR_VIEW_BYTES = 2,      /* bytes per parameter: text, JSON */
  NPAR_VIEW_HOSTS = 3,      /* traffic between hosts: text, JSON */
  NPAR_VIEW_TIMELINE = 4,   /* the planned step: SVG, JSON (trace events of Chrome and Perfetto) */
  NPAR_VIEW_PAGE = 5,       /* a page to explore: HTML */
  NPAR_VIEW_INPUTS = 6,     /* names, types, shapes, and those of the outputs: JSON */
  NPAR_VIEW_PARAMETERS = 7, /* names, types, shapes, mesh axes that split them, pipeline stages that hold them, optimizer states: JSON */
  NPAR_VIEW_MESH = 8        /* axes, their sizes, number of ranks, ranks of each pipeline stage: JSON */
};

typedef int32_t npar_format;
enum { NPAR_TEXT = 0, NPAR_JSON = 1, NPAR_SVG = 2, NPAR_HTML = 3 };

typedef struct npar_view_options {
  uint32_t struct_size;
  int32_t width;          /* columns of text; default 100 */
  int64_t hosts;          /* NPAR_VIEW_HOSTS: number of hosts, at most one per rank; default 1 */
  int64_t ranks_per_host; /* default: the ranks divided by the hosts */
} npar_view_options;

/* Describes a program without running it. `options` may be null. NPAR_USAGE: the view has no such format. */
NPAR_API npar_code npar_program_describe(const npar_program *program, npar_view view, npar_format format, const npar_view_options *options,
                                         npar_buffer **result, npar_error **error);

/* ---- Checks and plans ---------------------------------------------------------------------------------------------------------------- */

typedef struct npar_verify_options {
  uint32_t struct_size;
  int32_t threads;  /* default: the machine's */
  uint64_t seed;    /* of parameters and data; default 1 */
  int32_t any_size; /* 1: also models of more than 5 million parameters, which take long */
} npar_verify_options;

/* Does the plan compute what one rank computes? The report, {schema, ok, plan, checks: [...], warnings, rounding_error}, is given whether
 * the checks hold or not: NPAR_OK means that all were made, and npar_buffer_ok that all hold. */
NPAR_API npar_code npar_verify(const npar_request *request, const npar_verify_options *options, npar_buffer **json, npar_error **error);

typedef struct npar_simulate_options {
  uint32_t struct_size;
  int32_t jitter_samples; /* with jitter; default 100 */
  int64_t hosts;          /* default: as many as the ranks need */
  double jitter;          /* share by which times vary, such as 0.05, at most 10; 0: they do not */
  uint64_t jitter_seed;
  double total_tokens;  /* of the whole training, for its duration and price; 0: unknown */
  const npar_str *slow; /* slow ranks, each with a factor of at least 1: "rank=3:1.5", "host=0-1:1.2", by mesh axis "pp=2:1.1" */
  size_t slow_count;
  const npar_str *slow_links; /* slow links by level, each with a factor of at least 1, such as "cluster:2" */
  size_t slow_link_count;
  double device_mtbf, host_mtbf; /* mean hours between failures of a device and of a host; 0: no failures */
  double checkpoint_seconds;     /* for which training waits for a checkpoint, and */
  double restart_seconds;        /* from a failure until it continues: both go with device_mtbf or host_mtbf */
  int64_t devices;               /* of each host that ranks use; default: all */
  npar_str place;                /* order of ranks on hosts, such as "pp, dp, tp"; default: the plan's */
  const double *task_times;   /* null, or 4 measured times of a stage and micro-batch in milliseconds, which replace the machine's figures:
                               * forward, backward, gradients of weights, a message to the next stage */
  const double *rows_sent;    /* null, or 2 shares of the rows of experts: sent to other ranks, and to other hosts */
  int32_t post_validated;     /* 1: the update does not wait for the norm of the gradients, and is undone if that is not finite */
  int32_t overlapped_gathers; /* 1: gathers of updated parameters overlap the next step's first forward */
  int32_t unfused_sums;       /* 1: a pass of its own adds each micro-batch's gradients to their sum */
  int32_t unmoved_work;       /* 1: work is not moved between collectives and the first use of their results */
} npar_simulate_options;

/* Predicts a training step of the request's program on its machine: {schema, seconds, ...}, the JSON of `npar simulate --json`. */
NPAR_API npar_code npar_simulate(const npar_request *request, const npar_simulate_options *options, npar_buffer **json, npar_error **error);
/* Draws that step: NPAR_SVG; NPAR_JSON (trace events of Chrome and Perfetto); NPAR_HTML (a page to explore, with the step at full speed
 * below if ranks or links are slow). */
NPAR_API npar_code npar_simulate_draw(const npar_request *request, const npar_simulate_options *options, npar_format format,
                                      npar_buffer **picture, npar_error **error);

typedef struct npar_plan_options {
  uint32_t struct_size;
  int32_t jobs;  /* threads; default: the machine's */
  int64_t hosts; /* default: one, or all of an uneven machine */
  int64_t batch; /* default: the train block's */
  double budget; /* effort, not a limit: about this many compilations of a small pipeline, which neighbours of the best plans exceed;
                    default 52 */
  npar_str goal; /* "speed" (default), "memory" or "money" */
} npar_plan_options;

/* Searches a plan for the request's model and machine: {schema, plan (its text), tried: [...]}, the JSON of `npar plan --json`. The text
 * compiles as it is: it contains the request's `text`, or imports the file or library model. `import` is asked for what the model imports.
 */
NPAR_API npar_code npar_plan(const npar_request *request, const npar_plan_options *options, npar_buffer **json, npar_error **error);

typedef struct npar_explain_options {
  uint32_t struct_size;
  int32_t jobs;  /* threads; default: the machine's */
  int64_t hosts; /* default: one */
  int64_t batch; /* default: the train block's */
} npar_explain_options;

/* Which kinds of parallelism and of saving memory pay off for the request's model and machine, each shown by two simulated plans: {schema,
 * best, questions: [...]}, the JSON of `npar explain --json`. */
NPAR_API npar_code npar_explain(const npar_request *request, const npar_explain_options *options, npar_buffer **json, npar_error **error);

/* The text of the request's plan with the effect of each line: {schema, plan, file, lines: [{line, text, effects}]}, the JSON of
 * `npar inspect annotate --json`. */
NPAR_API npar_code npar_annotate(const npar_request *request, npar_buffer **json, npar_error **error);

/* The names of what the standard library has, {schema, layers, machines, models, optimizers, plans}: models for `file`, and machines for
 * `machine` of a request. */
NPAR_API npar_code npar_library(npar_buffer **json, npar_error **error);

/* ---- Arrays -------------------------------------------------------------------------------------------------------------------------- */

typedef int32_t npar_dtype;
enum {
  NPAR_F64 = 1,
  NPAR_F32 = 2,
  NPAR_F16 = 3,
  NPAR_BF16 = 4,
  NPAR_I64 = 5,
  NPAR_I32 = 6,
  NPAR_I16 = 7,
  NPAR_I8 = 8,
  NPAR_U64 = 9,
  NPAR_U32 = 10,
  NPAR_U16 = 11,
  NPAR_U8 = 12,
  NPAR_BOOL = 13
};

/* An array in somebody's memory. */
typedef struct npar_array {
  void *data; /* of the element at index 0, 0, ... */
  npar_dtype dtype;
  int32_t ndim;
  const int64_t *shape;
  const int64_t *strides; /* in elements, may be 0 or negative; null: row-major without gaps */
} npar_array;

typedef struct npar_input {
  npar_str name;
  npar_array array;
} npar_input;

/* A managed DLPack tensor (struct DLManagedTensorVersioned of dlpack.h, version 1) as an array that is valid until the tensor's deleter is
 * called. NPAR_BAD_INPUT: memory of another device than the processor, or a type that npar_dtype does not have. */
NPAR_API npar_code npar_array_from_dlpack(const void *managed, npar_array *array, npar_error **error);

/* ---- Trainers ------------------------------------------------------------------------------------------------------------------------ */

typedef struct npar_trainer_options {
  uint32_t struct_size;
  int32_t threads; /* workers; default: the machine's */
  uint64_t seed;   /* of parameters, dropout and data order, if seed_given; else the program's */
  int32_t seed_given;
  int32_t uninitialised;  /* 1: parameters begin as zeros, because weights will be loaded */
  npar_str backend;       /* "cpu" (default), "cuda" or "null", which computes nothing */
  double timeout_seconds; /* without any progress; default 300 */
  npar_observer observer; /* of setting up and of remarks while the trainer lives */
  npar_str products;      /* order of sums in products of bf16: "fastest" (default: the plan's, else the CPU's), "portable" or "pairs" */
  npar_str job;           /* "env": share the ranks with the other processes that torchrun or another launcher has started, see below;
                           * default: this process has all ranks */
} npar_trainer_options;

/* A session of all ranks of a program in this process, with its memory. Holds the program. `options` may be null.
 *
 * With `job` "env" the library reads the variables of the launcher: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them,
 * and NPAR_JOB_SECRET or NPAR_JOB_SECRET_FILE. The processes connect over TCP, and each gets an equal share of the ranks; a single process
 * has all of them. All processes then make the same calls of trainers in the same order with the same arguments, and get the same results.
 * Before a call does anything they compare their calls: NPAR_USAGE, which names both, if they differ, and NPAR_BAD_INPUT if arrays or files
 * differ; no data have changed then. Each passes the whole global batch to npar_trainer_step, and process 0 writes the file of
 * npar_trainer_save_weights. The pieces and views that a process sees are those of its own ranks; it may ask for them alone. If one of them
 * fails or is gone, the calls of all end with the same cause. npar_trainer_run, npar_trainer_evaluate and npar_trainer_generate are
 * refused. */
NPAR_API npar_code npar_trainer_create(npar_program *program, const npar_trainer_options *options, npar_trainer **trainer,
                                       npar_error **error);
NPAR_API void npar_trainer_free(npar_trainer *trainer);

/* Runs one step: an update, or one pass of a program that only goes forward. One array per input, in any order, with the global batch
 * first; integers of any type whose values are in range, floats of any type. The arrays are read during the call only. */
NPAR_API npar_code npar_trainer_step(npar_trainer *trainer, const npar_input *inputs, size_t count, npar_step_result *result,
                                     npar_error **error);
/* The measures over all steps since the last such call of a trainer whose program is of NPAR_EVALUATION: the JSON of `npar eval --json`.
 * Targets that the model ignores do not count. */
NPAR_API npar_code npar_trainer_evaluated(npar_trainer *trainer, npar_buffer **json, npar_error **error);
/* States the length of a training by npar_trainer_step, for learning rates with lengths in shares of the run or in epochs: steps done at
 * its end, those before included, and steps that a pass over the data takes; 0: unknown. npar_trainer_run does this itself. */
NPAR_API npar_code npar_trainer_set_length(npar_trainer *trainer, int64_t steps, double steps_per_epoch, npar_error **error);
/* Steps done, those of a resumed checkpoint included. */
NPAR_API int64_t npar_trainer_steps(const npar_trainer *trainer);

typedef struct npar_run_options {
  uint32_t struct_size;
  int32_t random_data;  /* 1: independent random values in place of data */
  int64_t steps;        /* steps done at the end, those before included */
  const npar_str *data; /* each FILE or INPUT=FILE; default: the program's data block */
  size_t data_count;
  npar_str tokens;     /* what a token file holds: "bytes", "u16" or "i32" */
  npar_str data_order; /* "shuffled" or "sequential"; default: the data block's */
  npar_str checkpoint; /* folder of checkpoints; default: none are written */
  int64_t checkpoint_every, checkpoint_keep;
  int32_t resume;                /* 1: continue from the newest checkpoint of that folder, if there is one */
  int32_t evaluate_every;        /* steps; 0: none */
  const npar_str *evaluate_data; /* default: the last part of the data block's split */
  size_t evaluate_data_count;
  npar_observer observer;   /* hears of each step */
  npar_program *evaluation; /* compiled with NPAR_EVALUATION, for evaluate_every; default: compiled from the trainer's own request */
} npar_run_options;

/* Trains on data. Learning rates may have lengths in epochs of the data or in shares of the run; npar_trainer_step refuses a program with
 * such rates before npar_trainer_set_length. The report: {schema, steps, first_step, loss, tokens_per_second or samples_per_second,
 * data_wait_seconds, parameter_hash}, `state_hash` if the model has states, `products` with products of bf16, `losses` if the model names
 * its losses, `valid_tokens` if targets can be ignored, `epoch` if the data have an end, `eval` after an evaluation, `checkpoint` and
 * `failed_checkpoints` with `checkpoint`.
 *
 * A run that is stopped returns NPAR_STOPPED and no report; with `checkpoint` it has written a last checkpoint. Checkpoints are written
 * while later steps run, so NPAR_EVENT_SAVED comes some steps after the step that it saves. Without `resume`, a folder that has checkpoints
 * is refused. A run cannot continue from a checkpoint of npar_trainer_step, whose data it cannot find again, nor from one of other data. */
NPAR_API npar_code npar_trainer_run(npar_trainer *trainer, const npar_run_options *options, npar_buffer **json, npar_error **error);

typedef struct npar_evaluate_options {
  uint32_t struct_size;
  npar_program *program; /* compiled with NPAR_EVALUATION; default: compiled from the trainer's own request */
  const npar_str *data;  /* as npar_run_options; default: the last part of the data block's split, or all of it */
  size_t data_count;
  npar_str tokens;
  npar_observer observer;
} npar_evaluate_options;

/* One pass over the data with the trainer's present parameters: the JSON of `npar eval --json`. */
NPAR_API npar_code npar_trainer_evaluate(npar_trainer *trainer, const npar_evaluate_options *options, npar_buffer **json,
                                         npar_error **error);

typedef struct npar_generate_options {
  uint32_t struct_size;
  int32_t count; /* tokens at most; default 100 */
  const int32_t *prompt;
  size_t prompt_count;
  npar_str prompt_text; /* in place of `prompt`; needs a tokenizer */
  npar_str tokenizer;   /* a folder, a file, or "bytes"; default: bytes for a model of 256 classes */
  double temperature;   /* 0: the most likely token */
  int32_t top_k;        /* 0: all */
  double top_p;         /* 0: all */
  uint64_t seed;
  npar_program *program;  /* compiled with NPAR_GENERATION; default: compiled from the trainer's own request */
  npar_observer observer; /* hears of each token */
} npar_generate_options;

/* Continues a prompt with the trainer's present parameters: {schema, prompt_tokens, tokens, text}. */
NPAR_API npar_code npar_trainer_generate(npar_trainer *trainer, const npar_generate_options *options, npar_buffer **json,
                                         npar_error **error);

/* Asks the step, run, evaluation or generation that is in progress to end with NPAR_STOPPED after its current part. Any thread or signal
 * handler may call it. Without one in progress it ends the next one at its begin. */
NPAR_API void npar_trainer_stop(npar_trainer *trainer);

/* ---- Weights, checkpoints, parameters ------------------------------------------------------------------------------------------------ */

/* Weights of a file or folder: safetensors, a Hugging Face folder, a checkpoint. */
NPAR_API npar_code npar_trainer_load_weights(npar_trainer *trainer, npar_str path, npar_error **error);
/* All parameters as one .safetensors file, whole or not at all. */
NPAR_API npar_code npar_trainer_save_weights(npar_trainer *trainer, npar_str path, npar_error **error);
/* Writes the checkpoint step-N into the folder and waits for it: parameters, optimizer states, number of steps done. Before the first step
 * it is step-0. Trainings do not mix: a folder that has checkpoints is refused unless this trainer resumed from it or saved to it last. A
 * checkpoint of the same step is renamed to step-N.aside first, which a remark says; npar never reads or removes that copy. */
NPAR_API npar_code npar_trainer_save(npar_trainer *trainer, npar_str folder, npar_error **error);

typedef struct npar_save_options {
  uint32_t struct_size;
  int32_t reserved;
  int64_t keep;              /* checkpoints that stay, the newest; 0: all */
  const npar_setting *files; /* small files of the host for the checkpoint: name and content, which may be binary */
  size_t file_count;
} npar_save_options;

/* The same with files of the host, such as where its data continue; the checkpoint's hashes cover them. `options` may be null. */
NPAR_API npar_code npar_trainer_save_with(npar_trainer *trainer, npar_str folder, const npar_save_options *options, npar_error **error);
/* A host's file in the checkpoint that the trainer has resumed from, in *content; null if that has no such file, or nothing was resumed. */
NPAR_API npar_code npar_trainer_saved_file(npar_trainer *trainer, npar_str name, npar_buffer **content, npar_error **error);
/* Continues from the newest intact checkpoint of the folder, whatever the plan that wrote it. npar_trainer_steps tells its step. Damaged
 * ones are skipped: the trainer's observer hears a remark about each. */
NPAR_API npar_code npar_trainer_resume(npar_trainer *trainer, npar_str folder, npar_error **error);

/* 32 hexadecimal digits and a zero over all parameters, equal for equal parameters under any plan. */
NPAR_API npar_code npar_trainer_hash(npar_trainer *trainer, char hash[33], npar_error **error);

/* A rectangle of a parameter on one rank, or, with ZeRO, a range of its elements in row-major order. */
typedef struct npar_piece {
  uint32_t struct_size;
  int32_t owned; /* 1: the pieces with 1 cover the parameter exactly once; 0: a replica */
  int64_t rank;
  int32_t is_flat; /* 1: `array` has one dimension, of elements from number `first` on */
  int32_t reserved;
  int64_t first;
  const int64_t *start; /* of a rectangle: index of its first element in the parameter */
  npar_array array;     /* live: the next step changes it; never write to it */
} npar_piece;

/* The whole parameter in place: live, read-only, valid as long as the trainer. NPAR_BAD_INPUT if the plan splits it. */
NPAR_API npar_code npar_trainer_view(npar_trainer *trainer, npar_str name, npar_array *array, npar_error **error);
/* The pieces of a parameter in place, in *pieces, which belongs to the trainer until the next call with it. */
NPAR_API npar_code npar_trainer_pieces(npar_trainer *trainer, npar_str name, const npar_piece **pieces, size_t *count, npar_error **error);
/* Gathers a parameter, an optimizer state or an output of the last step into memory of the caller: an array of its shape, NPAR_F32 or
 * NPAR_F64. NPAR_VIEW_PARAMETERS lists parameters and states. Only programs that go forward have outputs, such as "losses" (of each
 * position), "output.NAME" or "logits": NPAR_VIEW_INPUTS lists them. The losses of a training step are in npar_step_result. */
NPAR_API npar_code npar_trainer_read(npar_trainer *trainer, npar_str name, const npar_array *into, npar_error **error);
/* Writes a parameter or an optimizer state on every rank that keeps a piece of it. */
NPAR_API npar_code npar_trainer_write(npar_trainer *trainer, npar_str name, const npar_array *from, npar_error **error);
/* Writes several, all or none: nothing changes if one of them is refused. `steps`: steps done from now on, by which learning rates and
 * optimizers count; -1: as before. */
NPAR_API npar_code npar_trainer_write_all(npar_trainer *trainer, const npar_input *arrays, size_t count, int64_t steps, npar_error **error);

typedef int32_t npar_export;
enum { NPAR_EXPORT_VIEW = 0, NPAR_EXPORT_PIECE = 1, NPAR_EXPORT_COPY = 2 };

/* The same as a managed DLPack tensor (struct DLManagedTensorVersioned, version 1) in *managed, whose deleter frees it. A view and a piece
 * are read-only and keep the trainer's memory until then. A copy can also be of an optimizer state or of an output of the last step.
 * `piece`: number of the piece of NPAR_EXPORT_PIECE. */
NPAR_API npar_code npar_trainer_to_dlpack(npar_trainer *trainer, npar_str name, npar_export what, size_t piece, void **managed,
                                          npar_error **error);

#ifdef __cplusplus
}
#endif
#endif
