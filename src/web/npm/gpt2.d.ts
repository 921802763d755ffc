/** A request as `gpt2 serve` takes it: options that are absent have their defaults. */
export interface Request {
  /** A text, or token ids. */
  prompt?: string | number[] | string[] | number[][];
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
  | "choices" | "inspect" | "inspect_page";

export interface Model {
  generate(request: Request, options?: RunOptions): Promise<Answer[]>;
  score(request: Answer, options?: RunOptions): Promise<Answer>;
  embed(request: Answer, options?: RunOptions): Promise<Answer>;
  inspect(request: Answer, options?: RunOptions): Promise<Answer>;
  run(kind: Kind, request: Answer, options?: RunOptions): Promise<any>;
  tokenize(request: { prompt: string; offsets?: boolean }): Promise<Answer>;
  detokenize(request: { tokens: number[] }): Promise<{ prompt: string }>;
  /** What the model is called, and what a request can ask for. */
  describe(): Promise<{ name: string; n_positions: number; options: Answer[] }>;
  /** Frees the memory. Nothing may be called afterwards. */
  close(): void;
}

/** The URL of a folder (in Node, also its path), files, or bytes by name. */
export type Source = string | URL | Iterable<File> | Record<string, Uint8Array>;

export interface LoadOptions {
  name?: string;
  /** Converts the weights. */
  dtype?: "stored" | "f32" | "f16" | "bf16" | "int8" | "int4";
  /** false: prompts are token ids. */
  tokenizer?: boolean;
}

export class Gpt2Error extends Error {
  type?: string;
  param?: string;
  code?: string;
}

export function load(source: Source, options?: LoadOptions): Promise<Model>;

/** The same in a worker. `load` replaces the model. */
export function loadInWorker(source: Source, options?: LoadOptions):
  Promise<Model & { load(source: Source, options?: LoadOptions): Promise<void> }>;
