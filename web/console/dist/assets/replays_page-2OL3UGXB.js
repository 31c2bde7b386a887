import{a,b}from"./chunk-GQBU6WJX.js";import"./chunk-4DYTOPSZ.js";export{a as ReplaysPage,b as replayWithText};
