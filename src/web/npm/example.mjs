// Writes a text: node example.mjs FOLDER-OR-URL-OF-A-MODEL [PROMPT]
import * as gpt2 from "./gpt2.mjs";

const [folder, prompt = "Once upon a time"] = process.argv.slice(2);
const model = await gpt2.load(folder);
process.stdout.write(prompt);
await model.generate({ prompt }, { onPiece: ({ text }) => process.stdout.write(text) });
process.stdout.write("\n");
model.close();
