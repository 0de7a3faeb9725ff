// Compresses what vite has built into built/, which the program embeds, and notes of which sources it was made.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

const files = (folder) =>
  readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? files(path) : [path];
    });

rmSync("built", { recursive: true, force: true });
let total = 0;
for (const path of files("dist")) {
  const packed = gzipSync(readFileSync(path), { level: 9 });
  packed[9] = 255; // the system is not noted
  const to = join("built", path.slice("dist/".length)) + ".gz";
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, packed);
  console.log(`${String(packed.length).padStart(8)} ${to}`);
  total += packed.length;
}
console.log(`${String(total).padStart(8)} in all`);

const sources = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts", "tools/pack.mjs", ...files("public"), ...files("src")];
const digest = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
writeFileSync("built/sources.sha256", sources.map((path) => `${digest(path)}  ${path}\n`).join(""));
