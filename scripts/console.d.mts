/** Writes main.js, main.css and icon.svg into a folder, and what has to be compressed also as .br. */
export function buildConsole(folder: string): void
