/** Token ids. */
export type Ids = number[] | Int32Array | Uint32Array | Uint16Array;

/** A text, token ids, or several of either. */
export type Prompt = string | Ids | string[] | Ids[];

/** A request as `gpt2 serve` takes it: options that are absent have their defaults. */
export interface Request {
  prompt?: Prompt;
  max_new_tokens?: number;
  temperature?: number;
  top_k?: number;
  top_p?: number;
  seed?: number;
  /** Every other option that `describe()` lists. */
  [option: string]: unknown;
}

/** A JSON object, as the server answers it. */
export type Answer = Record<string, any>;

/** A token that could be at a place; `text` is absent without a tokenizer. */
export interface Likely {
  id: number;
  text?: string;
  logprob: number | null;
}

/** A token of a text, and what else could have been there. */
export interface TokenScore extends Likely {
  rank: number | null;
  top: Likely[];
}

export interface Generated {
  /** Absent without a tokenizer. */
  text: string;
  token_ids: number[];
  finish_reason: string;
  prompt_tokens: number;
  seed?: number;
  sequence?: number;
  /** The score of a beam. */
  score?: number;
  /** Of each token, and of one that ended the text, if the request asks for `logprobs`. */
  logprobs?: TokenScore[];
  stats: {
    prompt_seconds: number;
    generation_seconds: number;
    drafted_tokens: number;
    accepted_tokens: number;
    /** Present if the request says `hash_logits: true`. */
    logits_hash: string | null;
  };
}

export interface ScoreRequest {
  texts: string[] | Ids[];
  /** How many alternatives to list at each token. */
  logprobs?: number;
  /** The tokens of a window, and how far it moves. */
  context?: number;
  stride?: number;
  bos?: boolean;
}

/** Numbers of one text or of all; `logprob` is the sum of the tokens'. */
export interface Perplexity {
  tokens: number;
  words: number;
  bytes: number;
  windows: number;
  context: number;
  stride: number;
  logprob: number;
  perplexity: number;
  perplexity_error: number;
  word_perplexity: number;
  word_perplexity_error: number;
  byte_perplexity: number;
  byte_perplexity_error: number;
  bits_per_byte: number;
  bits_per_byte_error: number;
  hf_weighted_perplexity: number;
  hf_unweighted_perplexity: number;
  logprobs?: TokenScore[];
}

export interface ChoicesRequest {
  context: string | Ids;
  choices: string[] | Ids[];
  logprobs?: number;
  bos?: boolean;
}

export interface Choices {
  /** Places in `choices`, by three measures; the last needs a tokenizer. */
  best: number;
  best_per_token: number;
  best_per_byte?: number;
  choices: {
    tokens: number;
    logprob: number;
    logprob_per_token: number;
    logprob_per_byte?: number;
    greedy_match: boolean;
    logprobs?: TokenScore[];
  }[];
}

export interface EmbedRequest {
  input: Prompt;
  pooling?: "mean" | "last";
  /** The block whose output is used; by default, the last one's after ln_f. */
  layer?: number;
  encoding_format?: "float" | "base64";
  dimensions?: number;
  model?: string;
}

export interface Embeddings {
  object: "list";
  data: { object: "embedding"; index: number; embedding: number[] }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

export interface InspectRequest {
  prompt: string | Ids;
  top?: number;
  attention?: boolean;
  skip_layer?: (string | number)[];
  skip_head?: string[];
  skip_mlp?: (string | number)[];
  identity_norm?: string[];
}

/** What happens inside the model at each token. The manual of `gpt2 inspect` explains it. */
export interface Inspection {
  model: string;
  config: { n_layer: number; n_head: number; n_embd: number; n_inner: number;
    layer_norm_epsilon: number };
  changes: string[];
  loss: number | null;
  /** The likeliest tokens after the text. */
  next: Likely[];
  tokens: TokenScore[];
  norms: { name: string; tokens: Answer[] }[];
  updates: { name: string; tokens: { added_norm: number; growth: number; cosine: number }[] }[];
  heads: Answer[];
  mlps: Answer[][];
  lens: { rank: number; kl: number; top: Likely[] }[][];
  contributions: Answer[];
  compared_with?: Answer;
}

export interface Piece {
  /** The number of the text, if the request is for several. */
  index: number;
  /** Whole characters, perhaps none. */
  text: string;
  token_id?: number;
}

export interface RunOptions {
  onPiece?: (piece: Piece) => void;
  /** Takes the parts of an answer if the request says `stream: true`. */
  onPart?: (part: Answer) => void;
  /** Takes the share of the work that is done, from 0 to 1. */
  onProgress?: (share: number) => void;
  signal?: AbortSignal;
}

export type Kind = "generate" | "completions" | "chat" | "responses" | "embeddings" | "score"
  | "choices" | "inspect" | "inspect_page" | "tokenize" | "detokenize";

export interface Model {
  generate(request: Request, options?: RunOptions): Promise<Generated[]>;
  /** Answers the numbers of all texts together, and those of each. */
  score(request: ScoreRequest, options?: RunOptions):
    Promise<Perplexity & { texts: Perplexity[] }>;
  /** Compares continuations of a context. */
  choices(request: ChoicesRequest, options?: RunOptions): Promise<Choices>;
  embed(request: EmbedRequest, options?: RunOptions): Promise<Embeddings>;
  inspect(request: InspectRequest, options?: RunOptions): Promise<Inspection>;
  run(kind: Kind, request: Answer, options?: RunOptions): Promise<any>;
  tokenize(request: { prompt: string; offsets?: boolean }):
    Promise<{ tokens: number[]; count: number; max_model_len: number }>;
  detokenize(request: { tokens: Ids }): Promise<{ prompt: string }>;
  /** What the model is, with the members of `gpt2_model_info` (gpt2.h), what it is called, and what
   * a request can ask for. */
  describe(): Promise<Answer & { name: string; config: Answer; options: Answer[] }>;
  /** Frees the memory. Nothing may be called afterwards. */
  close(): void;
}

/**
 * The URL of a folder (in Node, also its path), `hub:OWNER/NAME` for a model of HuggingFace's hub,
 * files, or bytes by name.
 */
export type Source = string | URL | Iterable<File> | Record<string, Uint8Array>;

export interface LoadOptions {
  name?: string;
  /** Converts the weights. */
  dtype?: "stored" | "f32" | "f16" | "bf16" | "int8" | "int4";
  /** false: prompts are token ids. */
  tokenizer?: boolean;
  /** The branch, tag or commit of a model of the hub. */
  revision?: string;
  /**
   * Keeps the files: in the browser's Cache storage or, in Node, in HuggingFace's directory of
   * models. The default is true for models of the hub.
   */
  cache?: boolean;
  /** Hears how much of each file is there, in bytes. */
  onProgress?: (progress: { file: string; loaded: number; total: number }) => void;
  signal?: AbortSignal;
}

export class Gpt2Error extends Error {
  type?: string;
  param?: string | null;
  code?: string | null;
}

export function load(source: Source, options?: LoadOptions): Promise<Model>;

/** The same in a worker. `load` replaces the model. */
export function loadInWorker(source: Source, options?: LoadOptions):
  Promise<Model & { load(source: Source, options?: LoadOptions): Promise<void> }>;
