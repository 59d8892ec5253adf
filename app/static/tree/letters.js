// @ts-check
// How wide a text is in letters of one width, where it has to be known before it is drawn.

const NONE = /[\p{M}\p{Cf}\p{Emoji_Modifier}]/u; // what stands on a letter, joins two, or colours one
const WIDE = [
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u,
  /[\u2E80-\u303F\u3200-\u33FF\uFE30-\uFE4F\uFF01-\uFF60]/,
];
const PICTURE = "\uFE0F"; // makes a picture of the letter before it
const JOINER = "\u200D";
const FLAG = /\p{Regional_Indicator}/u; // two are one
const SENTENCE = "\uFDFD"; // one character, as wide as what it says

/** @param {string} text @returns {number} */
export function letters(text) {
  let sum = 0;
  let before = "";
  for (const one of text) {
    if (one === PICTURE) sum += /\p{Extended_Pictographic}/u.test(before) ? 1 : 0;
    else if (one === SENTENCE) sum += 14;
    else if (FLAG.test(one)) sum += 1;
    else if (!NONE.test(one) && before !== JOINER) sum += WIDE.some((kind) => kind.test(one)) ? 2 : 1;
    before = one;
  }
  return sum;
}
