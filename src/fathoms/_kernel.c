/* What numpy does in many passes over a run, done in one: lines of text to columns, dicts to columns or to scores, keys
 * of documents, order within topics, look-up among the judgments, counting distinct documents, drawing levels, bounds
 * of differences.
 *
 * fathoms/base/kernel.py says who calls this and stands between the two. Every function here has a twin in numpy, which
 * is the reference: it gives the same arrays, but for the last digits of sums, or says None, and then numpy does the
 * work or finds the words for what is wrong. Nothing here makes an error message for a user.
 *
 * The stable ABI of Python 3.11 and C11 are all it needs. Arrays come as buffers whose sizes are checked, and leave as
 * bytearrays. The interpreter's lock is released wherever no Python object is touched.
 */

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "texts are read as little-endian words; numpy does the work on this machine"
#endif
#if !defined(__GNUC__) /* gcc and clang: bit counts and integers of 128 bits */
#error "needs gcc or clang; numpy does the work elsewhere"
#endif

#define ONES 0x0101010101010101ULL
#define HIGH 0x8080808080808080ULL
#define LOW7 0x7F7F7F7F7F7F7F7FULL
#define ODD 0x9E3779B97F4A7C15ULL

#define MOST_COLUMNS 16
#define BLOCK 64 /* bytes looked at together for blanks */

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

/* -- buffers --------------------------------------------------------------------------------------------------- */

static int has_size(const Py_buffer *buffer, Py_ssize_t n, Py_ssize_t itemsize)
{
    if (n < 0 || (itemsize && n > PY_SSIZE_T_MAX / itemsize) || buffer->len != n * itemsize) {
        PyErr_SetString(PyExc_ValueError, "a buffer has the wrong size");
        return 0;
    }
    return 1;
}

/* Whether nothing that is written is read too: else numbers that were checked could change under way. */
static int is_apart(const Py_buffer *written, const Py_buffer *read)
{
    const char *to = written->buf, *from = read->buf;
    if (written->len && read->len && to < from + read->len && from < to + written->len) {
        PyErr_SetString(PyExc_ValueError, "a buffer is written and read");
        return 0;
    }
    return 1;
}

static void *allocated(size_t n, size_t itemsize)
{
    if (itemsize && n > (size_t)PY_SSIZE_T_MAX / itemsize)
        return NULL;
    return malloc(n && itemsize ? n * itemsize : 1);
}

static PyObject *new_bytes(size_t n, size_t itemsize)
{
    if (itemsize && n > (size_t)PY_SSIZE_T_MAX / itemsize)
        return PyErr_NoMemory();
    return PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * itemsize));
}

/* -- texts as words of eight bytes, zeros past their end ------------------------------------------------------- */

static inline Py_ssize_t words_for(size_t longest)
{
    return longest ? (Py_ssize_t)((longest + 7) / 8) : 1;
}

/* Whether ids would take too much room, as fathoms.data.widths has it: numpy then says what is wrong. */
#define MOST_ID 8192
#define TIMES 16
#define ALWAYS ((size_t)1 << 30)

static size_t room_for(size_t size)
{
    return size > ALWAYS / TIMES ? TIMES * size : ALWAYS;
}

static int too_wide(size_t n, size_t longest, size_t room)
{
    return longest > MOST_ID || n > room / (8 * (size_t)words_for(longest));
}

/* Writes n_words words; `stop` is where reading has to end. */
static inline void put_text(uint8_t *to, Py_ssize_t n_words, const uint8_t *from, size_t length, const uint8_t *stop)
{
    for (Py_ssize_t i = 0; i < n_words; i++) {
        uint64_t word = 0;
        if (length >= 8) {
            word = word_at(from);
            from += 8;
            length -= 8;
        } else if (length) {
            if (stop - from >= 8)
                word = word_at(from) & ((1ULL << 8 * length) - 1);
            else
                memcpy(&word, from, length);
            length = 0;
        }
        memcpy(to + 8 * i, &word, 8);
    }
}

/* -- lines of text --------------------------------------------------------------------------------------------- */

/* The blanks among eight bytes, those up to 32, as eight bits. */
static inline uint64_t blank_bits(uint64_t word)
{
    uint64_t above = (word & LOW7) + (0x7F - 32) * ONES;
    return (((~(above | word) & HIGH) >> 7) * 0x0102040810204080ULL) >> 56;
}

static inline uint64_t blanks_of_block(const uint8_t *p)
{
    uint64_t bits = 0;
    for (int i = 0; i < BLOCK / 8; i++)
        bits |= blank_bits(word_at(p + 8 * i)) << (8 * i);
    return bits;
}

enum { TOPIC, DOCUMENT, NUMBER, RANK, KINDS };

typedef struct {
    uint32_t start[KINDS], end[KINDS];
} Row;

typedef struct {
    Row *rows;
    size_t n, room;
    size_t longest[KINDS];
    size_t tag; /* where the last column of the first row starts */
} Rows;

typedef struct {
    int n_columns;
    int rest_in_last;
    int column[KINDS]; /* -1: there is no such column */
} Layout;

enum { PLAIN, IRREGULAR, NO_MEMORY };

static int add_row(Rows *found, const Layout *layout, const uint32_t *start, const uint32_t *end)
{
    if (found->n == found->room) {
        size_t room = found->room * 2;
        if (room > (size_t)PY_SSIZE_T_MAX / sizeof(Row))
            return NO_MEMORY;
        Row *rows = realloc(found->rows, room * sizeof(Row));
        if (rows == NULL)
            return NO_MEMORY;
        found->rows = rows;
        found->room = room;
    }
    Row *row = &found->rows[found->n];
    for (int kind = 0; kind < KINDS; kind++) {
        int column = layout->column[kind];
        if (column < 0) {
            row->start[kind] = row->end[kind] = 0;
            continue;
        }
        size_t length = end[column] - start[column];
        row->start[kind] = start[column];
        row->end[kind] = end[column];
        if (length > found->longest[kind])
            found->longest[kind] = length;
    }
    if (found->n++ == 0)
        found->tag = start[layout->n_columns - 1];
    return PLAIN;
}

/* Where the columns of each line are. Any number of blanks may separate them; an empty line, a comment, a line that
 * lacks columns, and bytes that are no text are irregular. */
static int split_lines(const uint8_t *data, size_t size, const Layout *layout, Rows *found)
{
    uint32_t start[MOST_COLUMNS], end[MOST_COLUMNS];
    uint8_t last[BLOCK];
    int column = 0;
    size_t begin = 0;
    /* The end of the text ends its last line. */
    for (size_t block = 0; block <= size; block += BLOCK) {
        const uint8_t *bytes = data + block;
        if (block + BLOCK > size) {
            memset(last, 'x', BLOCK);
            memcpy(last, data + block, size - block);
            last[size - block] = '\n';
            bytes = last;
        }
        uint64_t blanks = blanks_of_block(bytes);
        while (blanks) {
            int place = __builtin_ctzll(blanks);
            size_t at = block + (size_t)place;
            uint8_t blank = bytes[place];
            blanks &= blanks - 1;
            if (at > begin) {
                if (column < layout->n_columns) {
                    start[column] = (uint32_t)begin;
                    end[column] = (uint32_t)at;
                }
                column++;
            }
            begin = at + 1;
            if (blank == ' ' || blank == '\t')
                continue;
            if (blank != '\n') {
                if (blank < 11 || blank > 13) /* other blanks: \v, \f, \r */
                    return IRREGULAR;
                continue;
            }
            if (column == 0) {
                if (at < size)
                    return IRREGULAR;
                continue;
            }
            if (data[start[0]] == '#' || column < layout->n_columns ||
                (column > layout->n_columns && !layout->rest_in_last))
                return IRREGULAR;
            int outcome = add_row(found, layout, start, end);
            if (outcome != PLAIN)
                return outcome;
            column = 0;
        }
    }
    return PLAIN;
}

static const double TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define MOST_TENS 22 /* powers that a double holds exactly */
#define MOST_DIGITS 19

/* whole / 10^tens for 2^53 <= whole and 1 <= tens <= 19, rounded once, to the nearest double and half way to even. */
static double long_quotient(uint64_t whole, int tens)
{
    uint64_t divisor = 1;
    for (int i = 0; i < tens; i++)
        divisor *= 10;
    unsigned __int128 above = (unsigned __int128)whole << 64;
    unsigned __int128 quotient = above / divisor; /* at least 2^53, so one bit more than a double has, or more */
    int inexact = above % divisor != 0;
    uint64_t high = (uint64_t)(quotient >> 64);
    int bits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)quotient);
    int extra = bits - 53; /* at least 1 */
    uint64_t kept = (uint64_t)(quotient >> extra);
    unsigned __int128 half = (unsigned __int128)1 << (extra - 1);
    unsigned __int128 rest = quotient & (((unsigned __int128)1 << extra) - 1);
    if (rest > half || (rest == half && (inexact || (kept & 1))))
        kept++; /* up to 2^53, which is a double too */
    uint64_t power = (uint64_t)(1023 + extra - 64) << 52;
    double scale;
    memcpy(&scale, &power, 8);
    return (double)kept * scale;
}

#define POINTS (0x2E * ONES)
#define ZEROS (0x30 * ONES)
#define UPPER (0xF0 * ONES) /* the upper half of each byte, which is 3 in digits */

/* Up to eight digits, with a point or without, as most scores and ranks are; all of them are worked on at once. 0 where
 * there is anything else. Eight bytes are read from p. */
static inline int short_number(const uint8_t *p, size_t length, double *number)
{
    /* The last character to the highest byte; below the first there are zeros. */
    uint64_t word = word_at(p) << (8 * (8 - length));
    uint64_t others = word ^ POINTS, points = (others - ONES) & ~others & HIGH;
    int tens = 0;
    size_t digits = length;
    if (points) { /* the lowest bit set is at the first point, which the characters before it close up to */
        uint64_t before = ((points & -points) >> 7) - 1; /* a mask of them */
        tens = 7 - (__builtin_ctzll(points) >> 3);
        word = ((word & before) << 8) | (word & ~before & ~(0xFFULL << (8 * (7 - tens))));
        digits--;
    }
    if (digits < 8)
        word |= ZEROS >> (8 * digits);
    if (!digits || (word & UPPER) != ZEROS || ((word + 6 * ONES) & UPPER) != ZEROS)
        return 0;
    /* Neighbours are put together, three times. */
    uint64_t whole = ((word & 0x0F0F0F0F0F0F0F0FULL) * (10 * 256 + 1)) >> 8;
    whole = ((whole & 0x00FF00FF00FF00FFULL) * (100 * 65536 + 1)) >> 16;
    whole = ((whole & 0x0000FFFF0000FFFFULL) * (10000ULL * 4294967296ULL + 1)) >> 32;
    *number = tens ? (double)whole / TEN[tens] : (double)whole;
    return 1;
}

/* A decimal number, rounded as Python's float does; 0 where that is left to Python. */
static int plain_number(const uint8_t *p, const uint8_t *end, double *number)
{
    int negative = p < end && *p == '-';
    p += negative;
    uint64_t whole = 0;
    const uint8_t *digits = p;
    while (p < end && (uint8_t)(*p - '0') < 10)
        whole = whole * 10 + (uint64_t)(*p++ - '0');
    long n_digits = (long)(p - digits), tens = 0;
    if (p < end && *p == '.') {
        const uint8_t *point = p++;
        while (p < end && (uint8_t)(*p - '0') < 10)
            whole = whole * 10 + (uint64_t)(*p++ - '0');
        tens = (long)(p - point) - 1;
        n_digits += tens;
    }
    if (n_digits == 0 || n_digits > MOST_DIGITS)
        return 0;
    if (p < end && (*p | 32) == 'e') {
        p++;
        int below = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        if (p == end || end - p > 3)
            return 0;
        long exponent = 0;
        while (p < end && (uint8_t)(*p - '0') < 10)
            exponent = exponent * 10 + (*p++ - '0');
        tens += below ? exponent : -exponent;
    }
    if (p != end)
        return 0;
    double value;
    if (tens == 0 || whole == 0)
        value = (double)whole;
#if FLT_EVAL_METHOD == 0 /* operations round once */
    else if (whole <= 1ULL << 53 && tens > 0 && tens <= MOST_TENS)
        value = (double)whole / TEN[tens];
    else if (whole <= 1ULL << 53 && tens < 0 && tens >= -MOST_TENS)
        value = (double)whole * TEN[-tens];
    else if (whole > 1ULL << 53 && tens > 0 && tens <= MOST_DIGITS)
        value = long_quotient(whole, (int)tens);
#endif
    else
        return 0;
    *number = negative ? -value : value;
    return 1;
}

/* What plain_number leaves: infinities, many digits, and what is no number, which is nan. Needs the lock. */
static int hard_number(const uint8_t *from, size_t length, double *number)
{
    char small[64], *text = small, *end;
    *number = (double)NAN;
    if (memchr(from, '_', length) != NULL) /* Python's own separators are none of ours */
        return 1;
    if (length >= sizeof small && (text = malloc(length + 1)) == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    memcpy(text, from, length);
    text[length] = 0;
    if (memchr(text, 0, length) == NULL) {
        double value = PyOS_string_to_double(text, &end, NULL);
        if (PyErr_Occurred())
            PyErr_Clear();
        else if (end == text + length)
            *number = value;
    }
    if (text != small)
        free(text);
    return 1;
}

typedef struct {
    size_t *rows;
    size_t n, room;
} Hard;

static int add_hard(Hard *hard, size_t row)
{
    if (hard->n == hard->room) {
        size_t room = hard->room ? 2 * hard->room : 64;
        size_t *rows = realloc(hard->rows, room * sizeof(size_t));
        if (rows == NULL)
            return 0;
        hard->rows = rows;
        hard->room = room;
    }
    hard->rows[hard->n++] = row;
    return 1;
}

static int fill_numbers(const uint8_t *data, const uint8_t *stop, const Rows *found, int kind, double *numbers,
                        Hard *hard)
{
    for (size_t i = 0; i < found->n; i++) {
        const Row *row = &found->rows[i];
        const uint8_t *from = data + row->start[kind], *to = data + row->end[kind];
        size_t length = (size_t)(to - from);
        if (FLT_EVAL_METHOD == 0 && length <= 8 && stop - from >= 8 && short_number(from, length, &numbers[i]))
            continue;
        if (!plain_number(from, to, &numbers[i]) && !add_hard(hard, i))
            return 0;
    }
    return 1;
}

static PyObject *parse_lines(PyObject *module, PyObject *args)
{
    Py_buffer text;
    Py_ssize_t from, stop, room;
    Layout layout;
    if (!PyArg_ParseTuple(args, "y*nnip(iiii)n", &text, &from, &stop, &layout.n_columns, &layout.rest_in_last,
                          &layout.column[TOPIC], &layout.column[DOCUMENT], &layout.column[NUMBER],
                          &layout.column[RANK], &room))
        return NULL;
    PyObject *answer = NULL, *out[KINDS] = {NULL, NULL, NULL, NULL};
    Rows found = {NULL, 0, 0, {0, 0, 0, 0}, 0};
    Hard hard[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    int sound = room >= 0 && from >= 0 && from <= stop && stop <= text.len && layout.n_columns > 0;
    for (int kind = 0; kind < KINDS; kind++)
        sound = sound && layout.column[kind] < layout.n_columns && (kind == RANK || layout.column[kind] >= 0);
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such columns or places");
        goto done;
    }
    const uint8_t *data = (const uint8_t *)text.buf + from;
    size_t size = (size_t)(stop - from);
    if (size > UINT32_MAX - BLOCK || layout.n_columns > MOST_COLUMNS) {
        answer = Py_NewRef(Py_None);
        goto done;
    }

    found.room = size / 32 + 16;
    found.rows = allocated(found.room, sizeof(Row));
    int outcome = found.rows == NULL ? NO_MEMORY : PLAIN;
    if (outcome == PLAIN) {
        Py_BEGIN_ALLOW_THREADS
        outcome = split_lines(data, size, &layout, &found);
        Py_END_ALLOW_THREADS
    }
    if (outcome == NO_MEMORY) {
        PyErr_NoMemory();
        goto done;
    }
    if (outcome == IRREGULAR || too_wide(found.n, found.longest[TOPIC], (size_t)room) ||
        too_wide(found.n, found.longest[DOCUMENT], (size_t)room)) {
        answer = Py_NewRef(Py_None);
        goto done;
    }

    Py_ssize_t n_words[2] = {words_for(found.longest[TOPIC]), words_for(found.longest[DOCUMENT])};
    int has_rank = layout.column[RANK] >= 0;
    out[TOPIC] = new_bytes(found.n, 8 * (size_t)n_words[TOPIC]);
    out[DOCUMENT] = new_bytes(found.n, 8 * (size_t)n_words[DOCUMENT]);
    out[NUMBER] = new_bytes(found.n, sizeof(double));
    out[RANK] = new_bytes(has_rank ? found.n : 0, sizeof(double));
    if (out[TOPIC] == NULL || out[DOCUMENT] == NULL || out[NUMBER] == NULL || out[RANK] == NULL)
        goto done;
    uint8_t *texts[2] = {(uint8_t *)PyByteArray_AsString(out[TOPIC]), (uint8_t *)PyByteArray_AsString(out[DOCUMENT])};
    double *numbers[2] = {(double *)PyByteArray_AsString(out[NUMBER]), (double *)PyByteArray_AsString(out[RANK])};
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < found.n; i++) {
        const Row *row = &found.rows[i];
        for (int kind = TOPIC; kind <= DOCUMENT; kind++)
            put_text(texts[kind] + 8 * i * (size_t)n_words[kind], n_words[kind], data + row->start[kind],
                     row->end[kind] - row->start[kind], data + size);
    }
    sound = fill_numbers(data, data + size, &found, NUMBER, numbers[0], &hard[0]) &&
            (!has_rank || fill_numbers(data, data + size, &found, RANK, numbers[1], &hard[1]));
    Py_END_ALLOW_THREADS
    if (!sound) {
        PyErr_NoMemory();
        goto done;
    }
    for (int which = 0; which < 2; which++)
        for (size_t i = 0; i < hard[which].n; i++) {
            const Row *row = &found.rows[hard[which].rows[i]];
            int kind = which ? RANK : NUMBER;
            if (!hard_number(data + row->start[kind], row->end[kind] - row->start[kind],
                             &numbers[which][hard[which].rows[i]]))
                goto done;
        }
    answer = Py_BuildValue("nnnnOOOO", (Py_ssize_t)found.n, n_words[TOPIC], n_words[DOCUMENT], (Py_ssize_t)found.tag,
                           out[TOPIC], out[DOCUMENT], out[NUMBER], out[RANK]);

done:
    for (int kind = 0; kind < KINDS; kind++)
        Py_XDECREF(out[kind]);
    free(found.rows);
    free(hard[0].rows);
    free(hard[1].rows);
    PyBuffer_Release(&text);
    return answer;
}

/* -- dicts {topic: {document: number}} ------------------------------------------------------------------------- */

typedef struct {
    const uint8_t *text; /* of a str that the dict holds */
    size_t length;
    double number;
} Item;

static int is_one_of(PyObject *type, PyObject *types)
{
    Py_ssize_t n = PyTuple_Size(types);
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyTuple_GetItem(types, i) == type)
            return 1;
    return 0;
}

/* The UTF-8 of an id that is a str, not empty, and holds no zero byte; NULL where it is something else. */
static const uint8_t *id_text(PyObject *id, size_t *length)
{
    Py_ssize_t size;
    if (!PyUnicode_CheckExact(id))
        return NULL;
    const char *text = PyUnicode_AsUTF8AndSize(id, &size);
    if (text == NULL) { /* half a character */
        PyErr_Clear();
        return NULL;
    }
    if (size == 0 || memchr(text, 0, (size_t)size) != NULL)
        return NULL;
    *length = (size_t)size;
    return (const uint8_t *)text;
}

/* No type outside the list gets a say, so no Python code runs that could change the dict. */
static int number_of(PyObject *object, PyObject *types, double *number)
{
    if (!PyFloat_CheckExact(object)) {
        int whole = PyLong_CheckExact(object);
        if (!whole && !is_one_of((PyObject *)Py_TYPE(object), types))
            return 0;
    }
    *number = PyFloat_AsDouble(object);
    if (*number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

static PyObject *dict_columns(PyObject *module, PyObject *args)
{
    PyObject *data, *dict_types, *number_types;
    if (!PyArg_ParseTuple(args, "OO!O!", &data, &PyTuple_Type, &dict_types, &PyTuple_Type, &number_types))
        return NULL;
    PyObject *answer = NULL, *topics = NULL, *counts = NULL, *documents = NULL, *numbers = NULL;
    Item *items = NULL;
    if (!is_one_of((PyObject *)Py_TYPE(data), dict_types))
        return Py_NewRef(Py_None);

    /* Made first: making a list may start Python's garbage collector, and with it code that changes the dict. */
    size_t most_topics = (size_t)PyDict_Size(data);
    topics = PyList_New(0);
    counts = new_bytes(most_topics, sizeof(int64_t));
    if (topics == NULL || counts == NULL)
        goto done;
    PyObject *topic, *ranking, *id, *value;
    Py_ssize_t place = 0;
    size_t total = 0, length, longest = 0, size = 0, n = 0, n_topics = 0;
    while (PyDict_Next(data, &place, &topic, &ranking)) {
        if (!is_one_of((PyObject *)Py_TYPE(ranking), dict_types))
            goto irregular;
        total += (size_t)PyDict_Size(ranking);
    }
    items = allocated(total, sizeof(Item));
    if (items == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    int64_t *count = (int64_t *)PyByteArray_AsString(counts);
    place = 0;
    while (PyDict_Next(data, &place, &topic, &ranking)) {
        if (id_text(topic, &length) == NULL || n_topics == most_topics)
            goto irregular;
        size_t before = n;
        Py_ssize_t inner = 0;
        while (PyDict_Next(ranking, &inner, &id, &value)) {
            if (n == total)
                goto irregular;
            Item *item = &items[n];
            item->text = id_text(id, &item->length);
            if (item->text == NULL || !number_of(value, number_types, &item->number))
                goto irregular;
            if (item->length > longest)
                longest = item->length;
            size += item->length;
            n++;
        }
        if (n == before) /* a topic without documents has no rows, and so no number */
            continue;
        count[n_topics++] = (int64_t)(n - before);
        if (PyList_Append(topics, topic) < 0)
            goto done;
    }
    if (too_wide(n, longest, room_for(size)))
        goto irregular;
    Py_ssize_t n_words = words_for(longest);
    documents = new_bytes(n, 8 * (size_t)n_words);
    numbers = new_bytes(n, sizeof(double));
    if (documents == NULL || numbers == NULL)
        goto done;
    uint8_t *to = (uint8_t *)PyByteArray_AsString(documents);
    double *number = (double *)PyByteArray_AsString(numbers);
    for (size_t i = 0; i < n; i++) {
        /* A str's text ends in a zero byte, but nothing is sure to lie after that. */
        put_text(to + 8 * i * (size_t)n_words, n_words, items[i].text, items[i].length,
                 items[i].text + items[i].length);
        number[i] = items[i].number;
    }
    answer = Py_BuildValue("nnOOOO", (Py_ssize_t)n, n_words, topics, counts, documents, numbers);
    goto done;

irregular:
    answer = Py_NewRef(Py_None);
done:
    free(items);
    Py_XDECREF(topics);
    Py_XDECREF(counts);
    Py_XDECREF(documents);
    Py_XDECREF(numbers);
    return answer;
}

#define UNJUDGED 1 /* the code of a document without a judgment */

/* -- scores of a dict ------------------------------------------------------------------------------------------ */

enum { RUNNING, GREATEST, STOPPING, WEIGHTED };

typedef struct {
    double score;
    const uint8_t *text; /* of a str that the dict holds */
    size_t length;
    Py_ssize_t code;
} Placed;

/* By falling score, ties by falling text, as trec_eval has them. */
static int before(const void *left, const void *right)
{
    const Placed *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    int order = memcmp(b->text, a->text, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length < b->length) - (a->length > b->length);
}

/* A measure's sum over the places of one topic. */
static double sum_of_places(const Placed *placed, Py_ssize_t n, int64_t kind, const double *weight, const double *worth)
{
    double total = 0.0, state = kind == STOPPING ? 1.0 : 0.0;
    for (Py_ssize_t t = 0; t < n; t++) {
        double value = worth[placed[t].code];
        if (value == 0.0)
            continue;
        if (kind == WEIGHTED)
            total += weight[t] * value;
        else if (kind == GREATEST)
            total = weight[t] * value > total ? weight[t] * value : total;
        else if (kind == RUNNING) {
            state += value;
            total += value * state * weight[t];
        } else {
            total += state * value * weight[t];
            state *= 1.0 - value;
        }
    }
    return total;
}

typedef struct {
    Py_ssize_t n_measures, n_topics, n_codes, depth;
    const int64_t *kind, *cut;             /* [measure] */
    const double *weight, *worth, *divisor; /* [measure, rank], [measure, code], [measure, topic] */
    double *score;                         /* [measure, topic] */
} Plan;

/* One topic's ranking, scored by all measures; 0 where it is not plain. */
static int score_ranking(const Plan *plan, PyObject *ranking, PyObject *judged, Py_ssize_t topic, int single,
                         PyObject *number_types, Placed *placed)
{
    PyObject *id, *value;
    Py_ssize_t place = 0, n = 0;
    while (PyDict_Next(ranking, &place, &id, &value)) {
        Placed *here = &placed[n++];
        here->text = id_text(id, &here->length);
        if (here->text == NULL || !number_of(value, number_types, &here->score) || here->score != here->score)
            return 0;
        if (single)
            here->score = (double)(float)here->score;
        PyObject *code = PyDict_GetItemWithError(judged, id);
        here->code = code == NULL ? UNJUDGED : PyLong_AsSsize_t(code);
        if (here->length > MOST_ID || here->code < 0 || here->code >= plan->n_codes || PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
    }
    qsort(placed, (size_t)n, sizeof *placed, before);
    for (Py_ssize_t i = 0; i < plan->n_measures; i++) {
        Py_ssize_t read = plan->cut[i] < n ? plan->cut[i] : n;
        double sum = sum_of_places(placed, read, plan->kind[i], plan->weight + i * plan->depth,
                                   plan->worth + i * plan->n_codes);
        double divisor = plan->divisor[i * plan->n_topics + topic];
        plan->score[i * plan->n_topics + topic] = divisor > 0 ? sum / divisor : 0.0;
    }
    return 1;
}

/* Whether all of a ranking is plain: proper ids, and numbers. */
static int is_plain(PyObject *ranking, PyObject *number_types)
{
    PyObject *id, *value;
    Py_ssize_t place = 0;
    size_t length;
    double number;
    while (PyDict_Next(ranking, &place, &id, &value))
        if (id_text(id, &length) == NULL || length > MOST_ID || !number_of(value, number_types, &number) ||
            number != number)
            return 0;
    return 1;
}

/* Writes the score of each measure and topic of a dict {topic: {document: number}}, and says how many judged topics have
 * documents; None where the dict is not plain, or a ranking deeper than the weights. `topics` says which row each topic
 * has, and the judgments of each row are a dict {document: code}. */
static PyObject *score_dict(PyObject *module, PyObject *args)
{
    Plan plan;
    PyObject *data, *dict_types, *number_types, *topics, *judgments;
    Py_buffer kind, cut, weight, worth, divisor, score;
    int single;
    if (!PyArg_ParseTuple(args, "OO!O!O!O!py*y*y*y*y*w*", &data, &PyTuple_Type, &dict_types, &PyTuple_Type,
                          &number_types, &PyDict_Type, &topics, &PyList_Type, &judgments, &single, &kind, &cut,
                          &weight, &worth, &divisor, &score))
        return NULL;
    PyObject *answer = NULL, *topic, *ranking;
    Placed *placed = NULL;
    Py_ssize_t place = 0, longest = 0, n_answered = 0;
    plan.n_measures = kind.len / 8;
    plan.n_topics = PyList_Size(judgments);
    plan.depth = plan.n_measures ? weight.len / 8 / plan.n_measures : 0;
    plan.n_codes = plan.n_measures ? worth.len / 8 / plan.n_measures : 0;
    if (!has_size(&kind, plan.n_measures, 8) || !has_size(&cut, plan.n_measures, 8) ||
        !has_size(&weight, plan.n_measures, 8 * plan.depth) || !has_size(&worth, plan.n_measures, 8 * plan.n_codes) ||
        !has_size(&divisor, plan.n_measures, 8 * plan.n_topics) ||
        !has_size(&score, plan.n_measures, 8 * plan.n_topics))
        goto done;
    plan.kind = kind.buf;
    plan.cut = cut.buf;
    for (Py_ssize_t i = 0; i < plan.n_measures; i++)
        if (plan.cut[i] < 0) {
            PyErr_SetString(PyExc_ValueError, "a measure that reads no places");
            goto done;
        }
    plan.weight = weight.buf;
    plan.worth = worth.buf;
    plan.divisor = divisor.buf;
    plan.score = score.buf;
    memset(plan.score, 0, (size_t)score.len);
    if (!is_one_of((PyObject *)Py_TYPE(data), dict_types))
        goto irregular;
    while (PyDict_Next(data, &place, &topic, &ranking)) {
        if (!is_one_of((PyObject *)Py_TYPE(ranking), dict_types))
            goto irregular;
        longest = PyDict_Size(ranking) > longest ? PyDict_Size(ranking) : longest;
    }
    placed = allocated((size_t)longest, sizeof *placed);
    if (placed == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (longest > plan.depth)
        goto irregular;
    place = 0;
    while (PyDict_Next(data, &place, &topic, &ranking)) {
        size_t length;
        if (id_text(topic, &length) == NULL || length > MOST_ID)
            goto irregular;
        PyObject *row = PyDict_GetItemWithError(topics, topic);
        if (row == NULL && !is_plain(ranking, number_types))
            goto irregular;
        if (row == NULL || PyDict_Size(ranking) == 0)
            continue;
        Py_ssize_t at = PyLong_AsSsize_t(row);
        PyObject *judged = at < 0 ? NULL : PyList_GetItem(judgments, at);
        if (judged == NULL || !PyDict_CheckExact(judged))
            goto irregular;
        if (!score_ranking(&plan, ranking, judged, at, single, number_types, placed))
            goto irregular;
        n_answered++;
    }
    answer = PyLong_FromSsize_t(n_answered);
    goto done;

irregular:
    PyErr_Clear();
    answer = Py_NewRef(Py_None);
done:
    free(placed);
    PyBuffer_Release(&kind);
    PyBuffer_Release(&cut);
    PyBuffer_Release(&weight);
    PyBuffer_Release(&worth);
    PyBuffer_Release(&divisor);
    PyBuffer_Release(&score);
    return answer;
}

/* -- ids in a list --------------------------------------------------------------------------------------------- */

static PyObject *list_ids(PyObject *module, PyObject *args)
{
    PyObject *list;
    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &list))
        return NULL;
    Py_ssize_t n = PyList_Size(list);
    size_t length, longest = 0, size = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (id_text(PyList_GetItem(list, i), &length) == NULL)
            return Py_NewRef(Py_None);
        if (length > longest)
            longest = length;
        size += length;
    }
    if (too_wide((size_t)n, longest, room_for(size)))
        return Py_NewRef(Py_None);
    Py_ssize_t n_words = words_for(longest);
    PyObject *out = new_bytes((size_t)n, 8 * (size_t)n_words);
    if (out == NULL)
        return NULL;
    uint8_t *to = (uint8_t *)PyByteArray_AsString(out);
    /* Nothing above runs Python code, so the list is what it was. */
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint8_t *text = id_text(PyList_GetItem(list, i), &length);
        put_text(to + 8 * (size_t)i * (size_t)n_words, n_words, text, length, text + length);
    }
    PyObject *answer = Py_BuildValue("nO", n_words, out);
    Py_DECREF(out);
    return answer;
}

/* -- ids that were joined to one text, of lengths known -------------------------------------------------------- */

static PyObject *cut_ids(PyObject *module, PyObject *args)
{
    Py_buffer joined, lengths;
    if (!PyArg_ParseTuple(args, "y*y*", &joined, &lengths))
        return NULL;
    PyObject *answer = NULL, *out = NULL;
    size_t n = (size_t)lengths.len / sizeof(uint32_t), longest = 0, total = 0;
    const uint32_t *length = lengths.buf;
    const uint8_t *from = joined.buf, *stop = from + joined.len;
    int sound = 1; /* no id is empty */
    for (size_t i = 0; i < n; i++) {
        total += length[i];
        sound = sound && length[i] > 0;
        if (length[i] > longest)
            longest = length[i];
    }
    if (total != (size_t)joined.len) {
        PyErr_SetString(PyExc_ValueError, "the lengths do not add up to the text");
        goto done;
    }
    sound = sound && (joined.len == 0 || memchr(from, 0, (size_t)joined.len) == NULL);
    Py_ssize_t n_words = words_for(longest);
    out = new_bytes(n, 8 * (size_t)n_words);
    if (out == NULL)
        goto done;
    uint8_t *to = (uint8_t *)PyByteArray_AsString(out);
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < n; i++) {
        put_text(to + 8 * i * (size_t)n_words, n_words, from, length[i], stop);
        from += length[i];
    }
    Py_END_ALLOW_THREADS
    answer = Py_BuildValue("nOi", n_words, out, sound);
done:
    Py_XDECREF(out);
    PyBuffer_Release(&joined);
    PyBuffer_Release(&lengths);
    return answer;
}

/* -- keys of documents ----------------------------------------------------------------------------------------- */

static inline uint64_t mix(uint64_t key)
{
    key *= ODD;
    key ^= key >> 29;
    return key * ODD;
}

static PyObject *document_keys(PyObject *module, PyObject *args)
{
    Py_buffer texts, keys;
    Py_ssize_t n_words;
    if (!PyArg_ParseTuple(args, "y*nw*", &texts, &n_words, &keys))
        return NULL;
    PyObject *answer = NULL;
    Py_ssize_t n = keys.len / 8;
    if (n_words < 1 || n_words > PY_SSIZE_T_MAX / 8 || !has_size(&keys, n, 8) || !has_size(&texts, n, 8 * n_words)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "no words");
        goto done;
    }
    const uint8_t *from = texts.buf;
    uint64_t *key = keys.buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++, from += 8 * n_words) {
        uint64_t found = mix(word_at(from));
        for (Py_ssize_t j = 1; j < n_words; j++) {
            uint64_t word = word_at(from + 8 * j);
            if (word)
                found = mix(found ^ word);
        }
        key[i] = found;
    }
    Py_END_ALLOW_THREADS
    answer = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&texts);
    PyBuffer_Release(&keys);
    return answer;
}

static inline uint64_t topic_key(uint64_t document, int64_t topic)
{
    return mix(document ^ ((uint64_t)topic + 1) * ODD);
}

/* A set of keys: a table of a size that is a power of two, at least twice as many places as keys, 0 for a free one.
 * The key 0 itself is kept beside it. */
typedef struct {
    uint64_t *places;
    int bits;
    int has_zero;
} KeySet;

static int bits_for(size_t n)
{
    int bits = 4;
    while (bits < 62 && ((size_t)1 << bits) < 2 * n)
        bits++;
    return bits;
}

/* 1 where the key is new. */
static inline int add_key(KeySet *set, uint64_t key)
{
    if (key == 0) {
        int new = !set->has_zero;
        set->has_zero = 1;
        return new;
    }
    uint64_t mask = ((uint64_t)1 << set->bits) - 1, place = key >> (64 - set->bits);
    while (set->places[place]) {
        if (set->places[place] == key)
            return 0;
        place = (place + 1) & mask;
    }
    set->places[place] = key;
    return 1;
}

/* Whether some document occurs twice in a topic, or two of one key do. Topics mostly stand together, and then a set of
 * one topic's keys after another stays in the processor's cache. */
static PyObject *has_repeats(PyObject *module, PyObject *args)
{
    Py_buffer documents, topics;
    if (!PyArg_ParseTuple(args, "y*y*", &documents, &topics))
        return NULL;
    PyObject *answer = NULL;
    KeySet set = {NULL, 0, 0};
    Py_ssize_t n = documents.len / 8;
    if (!has_size(&documents, n, 8) || !has_size(&topics, n, 4))
        goto done;
    const uint64_t *document = documents.buf;
    const int32_t *topic = topics.buf;
    int together = 1;
    size_t most = 0, here = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        together = together && (i == 0 || topic[i - 1] <= topic[i]);
        here = i && topic[i - 1] == topic[i] ? here + 1 : 1;
        most = here > most ? here : most;
    }
    set.bits = bits_for(together ? most : (size_t)n);
    size_t size = (size_t)1 << set.bits;
    set.places = size > (size_t)PY_SSIZE_T_MAX / 8 ? NULL : calloc(size, 8);
    if (set.places == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    int repeats = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n && !repeats; i++) {
        if (together && i && topic[i - 1] != topic[i]) {
            memset(set.places, 0, size * 8);
            set.has_zero = 0;
        }
        repeats = !add_key(&set, together ? document[i] : topic_key(document[i], topic[i]));
    }
    Py_END_ALLOW_THREADS
    answer = PyBool_FromLong(repeats);
done:
    free(set.places);
    PyBuffer_Release(&documents);
    PyBuffer_Release(&topics);
    return answer;
}

/* Documents of topics, with a key for each, numbered in the order in which they first come; how many there are. `number`
 * has that of each one given, and `first` where each number was first given. */
static PyObject *number_documents(PyObject *module, PyObject *args)
{
    Py_ssize_t words;
    Py_buffer keys, topics, texts, numbers, firsts;
    if (!PyArg_ParseTuple(args, "ny*y*y*w*w*", &words, &keys, &topics, &texts, &numbers, &firsts))
        return NULL;
    PyObject *answer = NULL;
    int32_t *places = NULL; /* numbers from 1 on, 0 where there is none */
    Py_ssize_t n = keys.len / 8, n_found = 0;
    if (words < 1 || words > PY_SSIZE_T_MAX / 8 || n > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "no words, or too many");
        goto done;
    }
    if (!has_size(&keys, n, 8) || !has_size(&topics, n, 4) || !has_size(&texts, n, 8 * words) ||
        !has_size(&numbers, n, 8) || !has_size(&firsts, n, 8))
        goto done;
    const uint64_t *key = keys.buf;
    const int32_t *topic = topics.buf;
    const char *text = texts.buf;
    int64_t *number = numbers.buf, *first = firsts.buf;
    int bits = bits_for((size_t)n);
    size_t last = ((size_t)1 << bits) - 1, width = 8 * (size_t)words;
    places = calloc(last + 1, sizeof *places);
    if (places == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        size_t place = (size_t)(key[i] & last);
        for (; places[place]; place = (place + 1) & last) {
            int64_t at = first[places[place] - 1];
            if (key[at] == key[i] && topic[at] == topic[i] && !memcmp(text + at * width, text + i * width, width))
                break;
        }
        if (!places[place]) {
            first[n_found++] = i;
            places[place] = (int32_t)n_found;
        }
        number[i] = places[place] - 1;
    }
    Py_END_ALLOW_THREADS
    answer = PyLong_FromSsize_t(n_found);
done:
    free(places);
    PyBuffer_Release(&keys);
    PyBuffer_Release(&topics);
    PyBuffer_Release(&texts);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&firsts);
    return answer;
}

/* How many distinct keys there are: the keys of several runs, each a buffer, in which those of one topic have been
 * given by where they start and end. */
static PyObject *count_distinct(PyObject *module, PyObject *args)
{
    PyObject *parts;
    Py_buffer bounds;
    if (!PyArg_ParseTuple(args, "O!y*", &PyList_Type, &parts, &bounds))
        return NULL;
    PyObject *answer = NULL;
    KeySet set = {NULL, 0, 0};
    Py_ssize_t n = PyList_Size(parts), held = 0;
    Py_buffer *keys = allocated((size_t)n, sizeof(Py_buffer));
    if (keys == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (!has_size(&bounds, n, 2 * sizeof(int64_t)))
        goto done;
    const int64_t *bound = bounds.buf;
    size_t total = 0;
    for (; held < n; held++) {
        if (PyObject_GetBuffer(PyList_GetItem(parts, held), &keys[held], PyBUF_SIMPLE) < 0)
            goto done;
        int64_t from = bound[2 * held], stop = bound[2 * held + 1];
        if (from < 0 || from > stop || stop > keys[held].len / 8) {
            held++;
            PyErr_SetString(PyExc_ValueError, "no such places");
            goto done;
        }
        total += (size_t)(stop - from);
    }
    set.bits = bits_for(total);
    size_t size = (size_t)1 << set.bits, distinct = 0;
    set.places = size > (size_t)PY_SSIZE_T_MAX / 8 ? NULL : calloc(size, 8);
    if (set.places == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint64_t *key = keys[i].buf;
        for (int64_t j = bound[2 * i]; j < bound[2 * i + 1]; j++)
            distinct += (size_t)add_key(&set, key[j]);
    }
    Py_END_ALLOW_THREADS
    answer = PyLong_FromSize_t(distinct);
done:
    for (Py_ssize_t i = 0; i < held; i++)
        PyBuffer_Release(&keys[i]);
    free(keys);
    free(set.places);
    PyBuffer_Release(&bounds);
    return answer;
}

/* -- the judgments, a table for each topic --------------------------------------------------------------------- */

/* A place of a table: a row of the judgments, and some bits of its key, which tell most other keys from it. */
typedef struct {
    int32_t row; /* -1 where the place is free */
    uint32_t hint;
} Slot;

static int table_bits(int64_t places)
{
    return places ? __builtin_ctzll((uint64_t)places) : 0;
}

static inline size_t first_place(uint64_t key, int bits)
{
    return bits ? (size_t)(key >> (64 - bits)) : 0;
}

/* Where each topic's table starts, and the tables, a quarter full at the most. */
static PyObject *index_judgments(PyObject *module, PyObject *args)
{
    Py_buffer topics, keys;
    Py_ssize_t n_topics;
    if (!PyArg_ParseTuple(args, "y*y*n", &topics, &keys, &n_topics))
        return NULL;
    PyObject *answer = NULL, *starts = NULL, *slots = NULL;
    Py_ssize_t n = keys.len / 8;
    if (!has_size(&keys, n, 8) || !has_size(&topics, n, 4))
        goto done;
    const int32_t *topic = topics.buf;
    const uint64_t *key = keys.buf;
    int sound = n_topics >= 0 && n < INT32_MAX;
    for (Py_ssize_t i = 0; i < n && sound; i++)
        sound = topic[i] >= 0 && topic[i] < n_topics;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such topic, or too many judgments");
        goto done;
    }
    starts = new_bytes((size_t)n_topics + 1, sizeof(int64_t));
    if (starts == NULL)
        goto done;
    int64_t *start = (int64_t *)PyByteArray_AsString(starts);
    memset(start, 0, ((size_t)n_topics + 1) * sizeof(int64_t));
    for (Py_ssize_t i = 0; i < n; i++)
        start[topic[i] + 1]++;
    for (Py_ssize_t t = 0; t < n_topics; t++) {
        int64_t count = start[t + 1], places = 0;
        if (count)
            for (places = 4; places < 4 * count; places *= 2)
                ;
        start[t + 1] = start[t] + places;
    }
    slots = new_bytes((size_t)start[n_topics], sizeof(Slot));
    if (slots == NULL)
        goto done;
    Slot *slot = (Slot *)PyByteArray_AsString(slots);
    memset(slot, 0xFF, (size_t)start[n_topics] * sizeof(Slot));
    for (Py_ssize_t i = 0; i < n; i++) {
        Slot *table = slot + start[topic[i]];
        int64_t places = start[topic[i] + 1] - start[topic[i]];
        size_t place = first_place(key[i], table_bits(places));
        while (table[place].row >= 0)
            place = (place + 1) & (size_t)(places - 1);
        table[place] = (Slot){(int32_t)i, (uint32_t)key[i]};
    }
    answer = Py_BuildValue("OO", starts, slots);
done:
    Py_XDECREF(starts);
    Py_XDECREF(slots);
    PyBuffer_Release(&topics);
    PyBuffer_Release(&keys);
    return answer;
}

/* Texts of different widths are the same if what one has more is zeros. */
static inline int same_text(const uint8_t *a, Py_ssize_t a_words, const uint8_t *b, Py_ssize_t b_words)
{
    Py_ssize_t i, both = a_words < b_words ? a_words : b_words;
    for (i = 0; i < both; i++)
        if (word_at(a + 8 * i) != word_at(b + 8 * i))
            return 0;
    for (; i < a_words; i++)
        if (word_at(a + 8 * i))
            return 0;
    for (; i < b_words; i++)
        if (word_at(b + 8 * i))
            return 0;
    return 1;
}

/* -- order within topics --------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t key;
    int64_t row;
} Keyed;

/* Numbers as integers of the same order; 0 and -0 are one number. */
static inline uint64_t ordered_bits(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, 8);
    return bits >> 63 ? ~bits : bits | 1ULL << 63;
}

#define FEW 48
#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)

/* Stable, by key. `other` has room for as many. */
static void sort_keyed(Keyed *items, Keyed *other, size_t n)
{
    if (n < FEW) {
        for (size_t i = 1; i < n; i++) {
            Keyed moved = items[i];
            size_t j = i;
            for (; j > 0 && items[j - 1].key > moved.key; j--)
                items[j] = items[j - 1];
            items[j] = moved;
        }
        return;
    }
    uint64_t all = ~0ULL, any = 0;
    for (size_t i = 0; i < n; i++) {
        all &= items[i].key;
        any |= items[i].key;
    }
    uint64_t differing = all ^ any;
    Keyed *from = items, *to = other;
    for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (!((differing >> shift) & (DIGITS - 1)))
            continue;
        uint32_t count[DIGITS] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++)
            count[(from[i].key >> shift) & (DIGITS - 1)]++;
        for (int digit = 0; digit < DIGITS; digit++) {
            uint32_t here = count[digit];
            count[digit] = sum;
            sum += here;
        }
        for (size_t i = 0; i < n; i++)
            to[count[(from[i].key >> shift) & (DIGITS - 1)]++] = from[i];
        Keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, n * sizeof(Keyed));
}

enum { AS_THEY_ARE, DOCUMENTS_DESCENDING, SECOND_ASCENDING };

typedef struct {
    int how;
    const uint8_t *documents;
    Py_ssize_t n_words;
    const double *second;
} TieBreak;

/* Whether b belongs before a. */
static inline int wrong_order(const TieBreak *ties, int64_t a, int64_t b)
{
    if (ties->how == SECOND_ASCENDING)
        return ties->second[b] < ties->second[a];
    size_t width = 8 * (size_t)ties->n_words;
    return memcmp(ties->documents + (size_t)a * width, ties->documents + (size_t)b * width, width) < 0;
}

/* A stable merge sort of rows that are tied. */
static void sort_tied(Keyed *items, Keyed *other, size_t n, const TieBreak *ties)
{
    if (n < 12) {
        for (size_t i = 1; i < n; i++) {
            Keyed moved = items[i];
            size_t j = i;
            for (; j > 0 && wrong_order(ties, items[j - 1].row, moved.row); j--)
                items[j] = items[j - 1];
            items[j] = moved;
        }
        return;
    }
    size_t half = n / 2, i = 0, j = half, k = 0;
    sort_tied(items, other, half, ties);
    sort_tied(items + half, other + half, n - half, ties);
    while (i < half && j < n)
        other[k++] = wrong_order(ties, items[i].row, items[j].row) ? items[j++] : items[i++];
    while (i < half)
        other[k++] = items[i++];
    while (j < n)
        other[k++] = items[j++];
    memcpy(items, other, n * sizeof(Keyed));
}

typedef struct {
    Py_ssize_t n, n_topics;
    const int32_t *topic;
    const double *primary;
    int sorts, descending, single;
    TieBreak ties;
    const uint64_t *keys;
    /* the judgments */
    const int64_t *start;
    const Slot *slot;
    const uint64_t *judged_keys;
    const uint8_t *judged_documents;
    Py_ssize_t judged_words, n_judged;
    const int16_t *judged_codes;
    /* what is found, a place for each row */
    int64_t *row;
    int32_t *judgment;
    uint8_t *tied;
    uint64_t *pair_key;
    int16_t *code;
} Ranking;

/* The judgment of a row's document in the table of its topic, -1 where there is none. */
static inline int32_t find_judgment(const Ranking *r, const Slot *table, int64_t places, int bits, int64_t row)
{
    uint64_t key = r->keys[row];
    size_t place = first_place(key, bits);
    /* Whatever the table holds, the search ends, and reads nothing that is not there. */
    for (int64_t steps = 0; steps < places; steps++) {
        int32_t found = table[place].row;
        if (found < 0 || found >= r->n_judged)
            return -1;
        if (table[place].hint == (uint32_t)key && r->judged_keys[found] == key &&
            same_text(r->ties.documents + 8 * row * r->ties.n_words, r->ties.n_words,
                      r->judged_documents + 8 * found * r->judged_words, r->judged_words))
            return found;
        place = (place + 1) & (size_t)(places - 1);
    }
    return -1;
}

#define AHEAD 12 /* documents whose places in the table are fetched before they are needed */

/* The rows of judged topics by topic and in the order asked for; how many there are, or -1 without memory. */
static Py_ssize_t rank_all(const Ranking *r)
{
    Py_ssize_t known = 0, most = 0;
    size_t *start = calloc((size_t)r->n_topics + 1, sizeof(size_t));
    if (start == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < r->n; i++)
        if (r->topic[i] >= 0)
            start[r->topic[i] + 1]++;
    for (Py_ssize_t t = 0; t < r->n_topics; t++) {
        if ((Py_ssize_t)start[t + 1] > most)
            most = (Py_ssize_t)start[t + 1];
        start[t + 1] += start[t];
    }
    known = (Py_ssize_t)start[r->n_topics];
    /* Rows by topic; `start` moves to where each topic ends. */
    for (Py_ssize_t i = 0; i < r->n; i++)
        if (r->topic[i] >= 0)
            r->row[start[r->topic[i]]++] = i;
    Keyed *items = allocated((size_t)most, sizeof(Keyed)), *other = allocated((size_t)most, sizeof(Keyed));
    if (items == NULL || other == NULL) {
        known = -1;
        goto done;
    }
    size_t from = 0;
    for (Py_ssize_t t = 0; t < r->n_topics; t++) {
        size_t n = start[t] - from;
        if (!n)
            continue;
        int in_order = 1;
        for (size_t i = 0; i < n; i++) {
            int64_t row = r->row[from + i];
            double value = r->single ? (double)(float)r->primary[row] : r->primary[row];
            items[i].row = row;
            items[i].key = ordered_bits(r->descending ? -value : value);
            in_order = in_order && (i == 0 || items[i - 1].key <= items[i].key);
        }
        if (r->sorts && !in_order)
            sort_keyed(items, other, n);
        if (r->ties.how != AS_THEY_ARE)
            for (size_t i = 0, stop; i < n; i = stop) {
                for (stop = i + 1; stop < n && items[stop].key == items[i].key; stop++)
                    ;
                if (stop > i + 1)
                    sort_tied(items + i, other, stop - i, &r->ties);
            }
        const Slot *table = r->slot + r->start[t];
        int64_t places = r->start[t + 1] - r->start[t];
        int bits = table_bits(places);
        for (size_t i = 0; i < n; i++) {
            if (places && i + AHEAD < n)
                __builtin_prefetch(table + first_place(r->keys[items[i + AHEAD].row], bits));
            size_t at = from + i;
            int64_t row = items[i].row;
            int32_t found = find_judgment(r, table, places, bits, row);
            r->row[at] = row;
            r->tied[at] = i > 0 && items[i].key == items[i - 1].key;
            r->pair_key[at] = topic_key(r->keys[row], t);
            r->judgment[at] = found;
            r->code[at] = found < 0 ? UNJUDGED : r->judged_codes[found];
        }
        from = start[t];
    }
done:
    free(items);
    free(other);
    free(start);
    return known;
}

enum {
    TOPICS, PRIMARY, SECOND, DOCUMENTS, KEYS, STARTS, SLOTS, JUDGED_KEYS, JUDGED_DOCUMENTS, JUDGED_CODES,
    OUT_ROW, OUT_TIED, OUT_KEY, OUT_JUDGMENT, OUT_CODE, BUFFERS
};

/* Whether all that is an index points to something. */
static int is_sound(const Ranking *r, Py_ssize_t n_slots)
{
    if (r->start[0] != 0 || r->start[r->n_topics] != n_slots)
        return 0;
    for (Py_ssize_t t = 0; t < r->n_topics; t++) {
        int64_t places = r->start[t + 1] - r->start[t];
        if (places < 0 || (places & (places - 1)) || r->start[t + 1] > n_slots)
            return 0;
    }
    for (Py_ssize_t i = 0; i < r->n; i++)
        if (r->topic[i] >= r->n_topics)
            return 0;
    return 1;
}

static PyObject *rank_rows(PyObject *module, PyObject *args)
{
    Py_buffer b[BUFFERS];
    Ranking r;
    memset(&r, 0, sizeof r);
    memset(b, 0, sizeof b);
    if (!PyArg_ParseTuple(args, "nnpppiy*y*y*y*y*y*y*y*y*y*w*w*w*w*w*", &r.ties.n_words, &r.judged_words, &r.sorts,
                          &r.descending, &r.single, &r.ties.how, &b[TOPICS], &b[PRIMARY], &b[SECOND], &b[DOCUMENTS],
                          &b[KEYS], &b[STARTS], &b[SLOTS], &b[JUDGED_KEYS], &b[JUDGED_DOCUMENTS], &b[JUDGED_CODES],
                          &b[OUT_ROW], &b[OUT_TIED], &b[OUT_KEY], &b[OUT_JUDGMENT], &b[OUT_CODE]))
        return NULL;
    PyObject *answer = NULL;
    r.n = b[TOPICS].len / 4;
    r.n_topics = b[STARTS].len / 8 - 1;
    r.n_judged = b[JUDGED_KEYS].len / 8;
    Py_ssize_t n_slots = b[SLOTS].len / (Py_ssize_t)sizeof(Slot);
    Py_ssize_t n_second = r.ties.how == SECOND_ASCENDING ? r.n : b[SECOND].len / 8;
    Py_ssize_t most = PY_SSIZE_T_MAX / 8;
    if (r.ties.n_words < 1 || r.ties.n_words > most || r.judged_words < 1 || r.judged_words > most ||
        r.n_topics < 0 || r.n_topics >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "no words or topics");
        goto done;
    }
    if (!has_size(&b[TOPICS], r.n, 4) || !has_size(&b[PRIMARY], r.n, 8) || !has_size(&b[SECOND], n_second, 8) ||
        !has_size(&b[DOCUMENTS], r.n, 8 * r.ties.n_words) || !has_size(&b[KEYS], r.n, 8) ||
        !has_size(&b[STARTS], r.n_topics + 1, 8) || !has_size(&b[SLOTS], n_slots, sizeof(Slot)) ||
        !has_size(&b[JUDGED_KEYS], r.n_judged, 8) || !has_size(&b[JUDGED_DOCUMENTS], r.n_judged, 8 * r.judged_words) ||
        !has_size(&b[JUDGED_CODES], r.n_judged, 2) || !has_size(&b[OUT_ROW], r.n, 8) ||
        !has_size(&b[OUT_TIED], r.n, 1) || !has_size(&b[OUT_KEY], r.n, 8) || !has_size(&b[OUT_JUDGMENT], r.n, 4) ||
        !has_size(&b[OUT_CODE], r.n, 2))
        goto done;
    r.topic = b[TOPICS].buf;
    r.primary = b[PRIMARY].buf;
    r.ties.second = b[SECOND].buf;
    r.ties.documents = b[DOCUMENTS].buf;
    r.keys = b[KEYS].buf;
    r.start = b[STARTS].buf;
    r.slot = b[SLOTS].buf;
    r.judged_keys = b[JUDGED_KEYS].buf;
    r.judged_documents = b[JUDGED_DOCUMENTS].buf;
    r.judged_codes = b[JUDGED_CODES].buf;
    r.row = b[OUT_ROW].buf;
    r.tied = b[OUT_TIED].buf;
    r.pair_key = b[OUT_KEY].buf;
    r.judgment = b[OUT_JUDGMENT].buf;
    r.code = b[OUT_CODE].buf;
    if (!is_sound(&r, n_slots)) {
        PyErr_SetString(PyExc_ValueError, "a table of judgments or a topic's number is wrong");
        goto done;
    }
    Py_ssize_t known;
    Py_BEGIN_ALLOW_THREADS
    known = rank_all(&r);
    Py_END_ALLOW_THREADS
    answer = known < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(known);
done:
    for (int i = 0; i < BUFFERS; i++)
        PyBuffer_Release(&b[i]);
    return answer;
}

/* -- scores under many draws ----------------------------------------------------------------------------------- */

/* The places of one run by topic, and a value for each document and draw. */
typedef struct {
    int kind;
    Py_ssize_t n_topics, n_draws, n_weights, n_documents;
    const int64_t *start, *rank, *document;
    const double *weight, *value;
    double *total; /* [topic, draw] */
} PlaceSums;

#define DRAWS 128 /* side by side: what the nearest cache holds */

static void sum_places(const PlaceSums *s)
{
    double state[DRAWS];
    for (Py_ssize_t t = 0; t < s->n_topics; t++)
        for (Py_ssize_t from = 0; from < s->n_draws; from += DRAWS) {
            Py_ssize_t n = s->n_draws - from < DRAWS ? s->n_draws - from : DRAWS;
            double *total = s->total + t * s->n_draws + from;
            for (Py_ssize_t d = 0; d < n; d++) {
                total[d] = 0.0;
                state[d] = s->kind == STOPPING ? 1.0 : 0.0;
            }
            for (int64_t i = s->start[t]; i < s->start[t + 1]; i++) {
                const double *value = s->value + s->document[i] * s->n_draws + from;
                double weight = s->weight[s->rank[i] - 1];
                if (s->kind == RUNNING)
                    for (Py_ssize_t d = 0; d < n; d++) {
                        state[d] += value[d];
                        total[d] += value[d] * state[d] * weight;
                    }
                else if (s->kind == GREATEST)
                    for (Py_ssize_t d = 0; d < n; d++) {
                        double here = value[d] * weight;
                        total[d] = here > total[d] ? here : total[d];
                    }
                else
                    for (Py_ssize_t d = 0; d < n; d++) {
                        total[d] += state[d] * value[d] * weight;
                        state[d] *= 1.0 - value[d];
                    }
            }
        }
}

/* Whether all that is an index points to something. */
static int has_places(const PlaceSums *s, Py_ssize_t n_places)
{
    if (s->start[0] < 0 || s->start[s->n_topics] > n_places)
        return 0;
    for (Py_ssize_t t = 0; t < s->n_topics; t++)
        if (s->start[t] > s->start[t + 1])
            return 0;
    for (Py_ssize_t i = 0; i < n_places; i++)
        if (s->rank[i] < 1 || s->rank[i] > s->n_weights || s->document[i] < 0 || s->document[i] >= s->n_documents)
            return 0;
    return 1;
}

static PyObject *place_sums(PyObject *module, PyObject *args)
{
    PlaceSums s;
    Py_buffer start, rank, document, weight, value, total;
    if (!PyArg_ParseTuple(args, "iny*y*y*y*y*w*", &s.kind, &s.n_draws, &start, &rank, &document, &weight, &value,
                          &total))
        return NULL;
    PyObject *answer = NULL;
    Py_ssize_t n_places = rank.len / 8;
    s.n_topics = start.len / 8 - 1;
    s.n_weights = weight.len / 8;
    s.n_documents = s.n_draws > 0 ? value.len / 8 / s.n_draws : 0;
    if (s.n_topics < 0 || s.n_draws < 1 || s.n_draws > PY_SSIZE_T_MAX / 8) {
        PyErr_SetString(PyExc_ValueError, "no topics or draws");
        goto done;
    }
    if (!has_size(&start, s.n_topics + 1, 8) || !has_size(&rank, n_places, 8) || !has_size(&document, n_places, 8) ||
        !has_size(&weight, s.n_weights, 8) || !has_size(&value, s.n_documents, 8 * s.n_draws) ||
        !has_size(&total, s.n_topics, 8 * s.n_draws) || !is_apart(&total, &start) || !is_apart(&total, &rank) ||
        !is_apart(&total, &document))
        goto done;
    s.start = start.buf;
    s.rank = rank.buf;
    s.document = document.buf;
    s.weight = weight.buf;
    s.value = value.buf;
    s.total = total.buf;
    if (!has_places(&s, n_places)) {
        PyErr_SetString(PyExc_ValueError, "no such places");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    sum_places(&s);
    Py_END_ALLOW_THREADS
    answer = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&start);
    PyBuffer_Release(&rank);
    PyBuffer_Release(&document);
    PyBuffer_Release(&weight);
    PyBuffer_Release(&value);
    PyBuffer_Release(&total);
    return answer;
}

#define FEW_LEVELS 16

static PyObject *count_levels(PyObject *module, PyObject *args)
{
    Py_ssize_t n_topics, n_levels;
    Py_buffer levels, topic, counts;
    if (!PyArg_ParseTuple(args, "nny*y*w*", &n_topics, &n_levels, &levels, &topic, &counts))
        return NULL;
    PyObject *answer = NULL;
    Py_ssize_t n_documents = topic.len / 8, cells = 0, n_draws = 0;
    if (n_topics < 0 || n_levels < 1 || n_topics > PY_SSIZE_T_MAX / 8 / n_levels) {
        PyErr_SetString(PyExc_ValueError, "no levels, or too many");
        goto done;
    }
    cells = n_topics * n_levels;
    n_draws = cells ? counts.len / 8 / cells : 0;
    if (!has_size(&counts, n_draws, 8 * cells) || !has_size(&topic, n_documents, 8) ||
        !has_size(&levels, n_draws, 2 * n_documents) || !is_apart(&counts, &topic) || !is_apart(&counts, &levels))
        goto done;
    const int64_t *of = topic.buf;
    const int16_t *level = levels.buf;
    int64_t *count = counts.buf;
    int sound = 1;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n_documents; i++)
        sound &= of[i] >= 0 && of[i] < n_topics;
    for (Py_ssize_t i = 0; sound && i < n_documents * n_draws; i++)
        sound &= level[i] >= 0 && level[i] < n_levels;
    for (Py_ssize_t draw = 0; sound && draw < n_draws; draw++, level += n_documents, count += cells)
        for (Py_ssize_t i = 0, to; i < n_documents; i = to) {
            for (to = i + 1; to < n_documents && of[to] == of[i] && to - i < INT16_MAX; to++)
                ;
            int64_t *of_topic = count + of[i] * n_levels;
            if (n_levels > FEW_LEVELS || to - i < 8)
                for (Py_ssize_t j = i; j < to; j++)
                    of_topic[level[j]]++;
            else /* several documents at once */
                for (int16_t wanted = 0; wanted < n_levels; wanted++) {
                    int16_t n = 0;
                    for (Py_ssize_t j = i; j < to; j++)
                        n = (int16_t)(n + (level[j] == wanted));
                    of_topic[wanted] += n;
                }
        }
    Py_END_ALLOW_THREADS
    if (sound)
        answer = Py_NewRef(Py_None);
    else
        PyErr_SetString(PyExc_ValueError, "no such topic or level");
done:
    PyBuffer_Release(&levels);
    PyBuffer_Release(&topic);
    PyBuffer_Release(&counts);
    return answer;
}

/* -- levels drawn by logits ------------------------------------------------------------------------------------ */

#define REACH 16    /* logits beyond are as good as certain */
#define PER_UNIT 32 /* places of the table */
#define PLACES (2 * REACH * PER_UNIT)

/* e^x to the last bit or two, so that no version of the mathematical library is asked for. */
static double exponential(double x)
{
    x = x < 700 ? x : 700;
    x = x > -700 ? x : -700;
    int64_t power = (int64_t)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
    double rest = x - (double)power * 6.93147180369123816490e-01 - (double)power * 1.90821492927058770002e-10;
    double sum = 1.0;
    for (int i = 14; i > 0; i--)
        sum = 1.0 + sum * rest / i;
    uint64_t bits = (uint64_t)(1023 + power) << 52;
    double scale;
    memcpy(&scale, &bits, 8);
    return sum * scale;
}

/* The chance of any logit between two places of a table, from below and from above: what decides most lots. */
typedef struct {
    double low, high;
} Chances;

static Chances chances_of[PLACES + 2];

static void fill_chances(void)
{
    double slack = 1e-9; /* more than rounding comes to */
    for (int i = 0; i <= PLACES + 1; i++) {
        double from = (double)(i - 1) / PER_UNIT - REACH, to = from + 1.0 / PER_UNIT;
        chances_of[i].low = i == 0 ? 0.0 : (1 - slack) / (1 + exponential(-from));
        chances_of[i].high = i == PLACES + 1 ? 1.0 : (1 + slack) / (1 + exponential(-to));
    }
}

static inline Chances chances_near(double logit)
{
    double place = (logit + REACH) * PER_UNIT;
    if (!(place >= 0.0))
        return place < 0.0 ? chances_of[0] : (Chances){0.0, 1.0};
    return chances_of[place < PLACES ? 1 + (int)place : PLACES + 1];
}

typedef struct {
    Py_ssize_t n_draws, n_documents, n_topics, n_owners, n_steps, n_slopes;
    const double *lot;      /* [draw, document] */
    const float *shared;    /* [step, draw, document] */
    const double *effect;   /* [step, slope, draw, topic] */
    const float *feature;   /* [slope, document] */
    const double *sharper;  /* [step, document] */
    const double *drift;    /* [draw, topic] */
    const double *distance; /* [document] */
    const double *of_owner; /* [draw, owner] */
    const double *inside;   /* [document] */
    const int64_t *topic, *owner, *level; /* [document], [document], [step] */
    int16_t *drawn;                       /* [draw, document] */
} LevelDraws;

/* The logits of some documents of one topic, from one up to another. */
static void fill_logits(const LevelDraws *s, Py_ssize_t step, Py_ssize_t draw, Py_ssize_t from, Py_ssize_t to,
                        double *logit)
{
    const float *shared = s->shared + (step * s->n_draws + draw) * s->n_documents;
    const double *sharper = s->sharper + step * s->n_documents;
    int64_t topic = s->topic[from];
    for (Py_ssize_t i = from; i < to; i++)
        logit[i] = (double)shared[i];
    for (Py_ssize_t k = 0; k < s->n_slopes; k++) {
        double effect = s->effect[((step * s->n_slopes + k) * s->n_draws + draw) * s->n_topics + topic];
        const float *feature = s->feature + k * s->n_documents;
        for (Py_ssize_t i = from; i < to; i++)
            logit[i] += effect * (double)feature[i];
    }
    for (Py_ssize_t i = from; i < to; i++)
        logit[i] += sharper[i];
    if (step == 0) {
        double drift = s->drift[draw * s->n_topics + topic];
        const double *of_owner = s->of_owner + draw * s->n_owners;
        for (Py_ssize_t i = from; i < to; i++)
            logit[i] += drift * s->distance[i] + of_owner[s->owner[i]];
    }
}

/* Whether a lot is below the chance of being at a step or above, where the table does not say. */
static int is_reached(const LevelDraws *s, Py_ssize_t step, Py_ssize_t i, double lot, const double *logit)
{
    double chance = s->inside[i];
    for (Py_ssize_t before = 0; before <= step; before++)
        chance *= 1.0 / (exponential(-logit[before * s->n_documents + i]) + 1.0);
    return lot < chance;
}

/* Who is not at one step is at no further one, so that only the others are looked at again. */
static void draw_all(const LevelDraws *s, int32_t *reached, Chances *chances, double *logit)
{
    for (Py_ssize_t draw = 0; draw < s->n_draws; draw++) {
        const double *lot = s->lot + draw * s->n_documents;
        int16_t *drawn = s->drawn + draw * s->n_documents;
        Py_ssize_t n = s->n_documents;
        for (Py_ssize_t i = 0; i < n; i++) {
            reached[i] = (int32_t)i;
            chances[i] = (Chances){s->inside[i], s->inside[i]};
            drawn[i] = 0;
        }
        for (Py_ssize_t step = 0; step < s->n_steps; step++) {
            double *here = logit + step * s->n_documents;
            for (Py_ssize_t from = 0, to; from < s->n_documents; from = to) {
                for (to = from + 1; to < s->n_documents && s->topic[to] == s->topic[from]; to++)
                    ;
                fill_logits(s, step, draw, from, to, here);
            }
            Py_ssize_t left = 0;
            for (Py_ssize_t j = 0; j < n; j++) {
                int32_t i = reached[j];
                Chances near = chances_near(here[i]);
                near.low *= chances[j].low;
                near.high *= chances[j].high;
                int hit = lot[i] < near.low, may_hit = lot[i] < near.high;
                if (hit != may_hit)
                    hit = is_reached(s, step, i, lot[i], logit);
                reached[left] = i; /* no branch, for none could be foreseen */
                chances[left] = near;
                drawn[i] = (int16_t)(drawn[i] + hit * (s->level[step] - drawn[i]));
                left += hit;
            }
            n = left;
        }
    }
}

enum { LOTS, SHARED, EFFECTS, FEATURES, SHARPER, DRIFTS, DISTANCES, OF_OWNERS, INSIDE, TOPIC_OF, OWNER_OF, LEVELS_OF,
       DRAWN, DRAW_BUFFERS };

static PyObject *draw_levels(PyObject *module, PyObject *args)
{
    LevelDraws s;
    Py_buffer b[DRAW_BUFFERS];
    if (!PyArg_ParseTuple(args, "nny*y*y*y*y*y*y*y*y*y*y*y*w*", &s.n_topics, &s.n_owners, &b[LOTS], &b[SHARED],
                          &b[EFFECTS], &b[FEATURES], &b[SHARPER], &b[DRIFTS], &b[DISTANCES], &b[OF_OWNERS], &b[INSIDE],
                          &b[TOPIC_OF], &b[OWNER_OF], &b[LEVELS_OF], &b[DRAWN]))
        return NULL;
    PyObject *answer = NULL;
    Py_ssize_t n = b[TOPIC_OF].len / 8, most = INT32_MAX;
    s.n_documents = n;
    s.n_draws = n ? b[DRAWN].len / 2 / n : 0;
    s.n_steps = b[LEVELS_OF].len / 8;
    s.n_slopes = n ? b[FEATURES].len / 4 / n : 0;
    if (n > most || s.n_draws > most || s.n_topics < 0 || s.n_topics > most || s.n_owners < 0 || s.n_owners > most ||
        s.n_steps > 64 || s.n_slopes > 64) {
        PyErr_SetString(PyExc_ValueError, "too many draws or documents");
        goto done;
    }
    Py_ssize_t cells = s.n_draws * n, by_topic = s.n_draws * s.n_topics;
    if (!has_size(&b[LOTS], cells, 8) || !has_size(&b[SHARED], cells, 4 * s.n_steps) ||
        !has_size(&b[EFFECTS], by_topic, 8 * s.n_steps * s.n_slopes) || !has_size(&b[FEATURES], n, 4 * s.n_slopes) ||
        !has_size(&b[SHARPER], n, 8 * s.n_steps) || !has_size(&b[DRIFTS], by_topic, 8) ||
        !has_size(&b[DISTANCES], n, 8) || !has_size(&b[OF_OWNERS], s.n_draws * s.n_owners, 8) ||
        !has_size(&b[INSIDE], n, 8) || !has_size(&b[TOPIC_OF], n, 8) || !has_size(&b[OWNER_OF], n, 8) ||
        !has_size(&b[LEVELS_OF], s.n_steps, 8) || !has_size(&b[DRAWN], cells, 2))
        goto done;
    for (int i = 0; i < DRAWN; i++)
        if (!is_apart(&b[DRAWN], &b[i]))
            goto done;
    s.lot = b[LOTS].buf;
    s.shared = b[SHARED].buf;
    s.effect = b[EFFECTS].buf;
    s.feature = b[FEATURES].buf;
    s.sharper = b[SHARPER].buf;
    s.drift = b[DRIFTS].buf;
    s.distance = b[DISTANCES].buf;
    s.of_owner = b[OF_OWNERS].buf;
    s.inside = b[INSIDE].buf;
    s.topic = b[TOPIC_OF].buf;
    s.owner = b[OWNER_OF].buf;
    s.level = b[LEVELS_OF].buf;
    s.drawn = b[DRAWN].buf;
    int sound = 1;
    for (Py_ssize_t i = 0; i < n; i++)
        sound &= s.topic[i] >= 0 && s.topic[i] < s.n_topics && s.owner[i] >= 0 && s.owner[i] < s.n_owners;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such topic or run");
        goto done;
    }
    int32_t *reached = allocated((size_t)n, sizeof *reached);
    Chances *chances = allocated((size_t)n, sizeof *chances);
    double *logit = allocated((size_t)(n * s.n_steps), sizeof *logit);
    if (reached && chances && logit) {
        Py_BEGIN_ALLOW_THREADS
        draw_all(&s, reached, chances, logit);
        Py_END_ALLOW_THREADS
        answer = Py_NewRef(Py_None);
    } else
        PyErr_NoMemory();
    free(reached);
    free(chances);
    free(logit);
done:
    for (int i = 0; i < DRAW_BUFFERS; i++)
        PyBuffer_Release(&b[i]);
    return answer;
}

/* -- differences in average precision ---------------------------------------------------------------------------- */

enum { KNOWN = 1, OPEN = 2 }; /* what a place holds: a relevant document, or an unjudged one */

/* Rankings of some topics, and pairs of them; what is prepared for each row has a place a rank, and one past the last,
 * for documents that the row does not have. A row is a ranking as it is, or in an extreme order of its ties; then there
 * are more rows than rankings, and each is of the ranking of its number, counted round. */
typedef struct {
    Py_ssize_t n_rankings, n_rows, depth, n_documents, n_pairs;
    const int16_t *rank;  /* [ranking, document]: from 1, 0 where not retrieved */
    const int32_t *place; /* [ranking, rank]: the document there */
    const uint8_t *holds; /* [ranking, rank] */
    const double *R;      /* [ranking] */
    const uint64_t *group; /* [ranking, rank]: a mark of the tie group, 0 where there is none; NULL: no ties */
    const int32_t *at;     /* [row, rank]: which rank, from 0, the document there counts as having */
    Py_ssize_t at_step;    /* 0 where all rows are rankings as they are */
    const uint8_t *sorted; /* [row, rank]: what stands there in the extreme order */
    const int64_t *a, *b;  /* [pair]: two rows, */
    const int64_t *others; /* and how many documents may turn out relevant: all unjudged ones, or those of neither row */
    double *result;        /* [end, pair], or [pair] */
    double *inverse;       /* [rank]: one over it */
    double *known, *open;  /* [row, rank]: the sum of min(1/rank, 1/other rank) over the others of a kind */
    double *fewest;        /* [row, m]: the least sum of precisions with m unjudged documents relevant */
    double *sum, *high;    /* [row]: the sum of precisions, and the greatest AP */
    int32_t *open_at;      /* [row, i]: ranks of unjudged documents */
    Py_ssize_t *n_open;    /* [row] */
    double *gain, *in_both; /* room to work on a pair */
    int32_t *counts, *in_a, *in_b; /* by rank, which rank the document of a place of the other row has in this one */
} Precisions;

/* counts[t] documents of rank t + 1 become sums[t] = sum over them of min(1 / (t + 1), 1 / rank). */
static void sums_of_minima(const int32_t *counts, Py_ssize_t depth, const double *inverse, double *sums)
{
    double deeper = 0.0;
    for (Py_ssize_t t = depth - 1; t >= 0; t--) {
        sums[t] = deeper;
        deeper += counts[t] * inverse[t];
    }
    int64_t count = 0;
    for (Py_ssize_t t = 0; t < depth; t++) {
        count += counts[t];
        sums[t] += count * inverse[t];
    }
    sums[depth] = 0.0;
}

static void list_open(const Precisions *p, Py_ssize_t ranking)
{
    Py_ssize_t n = 0;
    for (Py_ssize_t t = 0; t < p->depth; t++)
        if (p->holds[ranking * p->depth + t] == OPEN)
            p->open_at[ranking * p->depth + n++] = (int32_t)t;
    p->n_open[ranking] = n;
}

/* How many documents of a kind have each rank, and what the sum of their precisions is. */
static double count_ranks(const Precisions *p, const uint8_t *holds, const int32_t *at, int kind)
{
    memset(p->counts, 0, (size_t)p->depth * sizeof *p->counts);
    for (Py_ssize_t t = 0; t < p->depth; t++)
        if (holds[t] == kind)
            p->counts[at[t]]++;
    double sum = 0.0;
    int64_t above = 0;
    for (Py_ssize_t t = 0; t < p->depth; t++) {
        int64_t n = p->counts[t];
        sum += (double)(above * n + n * (n + 1) / 2) * p->inverse[t];
        above += n;
    }
    return sum;
}

static void prepare_row(const Precisions *p, Py_ssize_t row)
{
    Py_ssize_t depth = p->depth, ranking = row % p->n_rankings, n_known = 0;
    const uint8_t *holds = p->holds + ranking * depth, *sorted = p->sorted + row * depth;
    const int32_t *at = p->at + row * p->at_step;
    const double *inverse = p->inverse;
    double *known = p->known + row * (depth + 1), *fewest = p->fewest + row * (depth + 1);
    count_ranks(p, holds, at, OPEN);
    sums_of_minima(p->counts, depth, inverse, p->open + row * (depth + 1));
    p->sum[row] = count_ranks(p, holds, at, KNOWN);
    sums_of_minima(p->counts, depth, inverse, known);
    /* The m shallowest unjudged documents relevant: each has its own precision, and adds to those below it. */
    double *below_or_at = p->in_both, sum = 0.0;
    for (Py_ssize_t t = 0; t < depth; t++) {
        p->counts[t] = sorted[t] == KNOWN;
        sum += p->counts[t] ? ++n_known * inverse[t] : 0.0;
    }
    sums_of_minima(p->counts, depth, inverse, below_or_at);
    double R = p->R[ranking], high = R > 0 ? sum / R : 0.0, most = sum;
    Py_ssize_t above = 0, n_above = 0, m = 0;
    for (Py_ssize_t t = 0; t < depth; t++) {
        if (sorted[t] == KNOWN)
            n_above++;
        if (sorted[t]) {
            above++;
            if (sorted[t] == OPEN) {
                most += above * inverse[t] + (below_or_at[t] - n_above * inverse[t]);
                m++;
                if (most / (R + m) > high)
                    high = most / (R + m);
            }
        }
    }
    p->high[row] = high;
    /* The m deepest ones. */
    double below = 0.0, least = sum;
    m = 0;
    fewest[0] = least;
    for (Py_ssize_t t = depth - 1; t >= 0; t--) {
        if (sorted[t] == KNOWN)
            n_known--;
        if (sorted[t] == OPEN) {
            least += (n_known + 1) * inverse[t] + below;
            fewest[++m] = least;
        }
        if (sorted[t])
            below += inverse[t];
    }
}

/* The greatest (base + sum of the m greatest gains) / (divisor + m), by Dinkelbach's method: what is more than the ratio
 * so far raises it. Changes the list. */
static double greatest_ratio(double base, double divisor, double *gain, Py_ssize_t n, double ratio)
{
    for (;;) {
        double sum = base;
        Py_ssize_t m = 0;
        for (Py_ssize_t i = 0; i < n; i++)
            if (gain[i] > ratio) {
                sum += gain[i];
                gain[m++] = gain[i];
            }
        double next = divisor + m > 0 ? sum / (divisor + m) : ratio;
        if (!(next > ratio) || !m)
            return next > ratio ? next : ratio;
        ratio = next;
        n = m;
    }
}

/* Which rank, from 0, the two rows of a pair give each other's unjudged documents, by the place of these in their own
 * ranking; one past the last where they lack them. And how many they share. Pairs come by their first row, whose table
 * then is at hand. */
static Py_ssize_t find_open(const Precisions *p, Py_ssize_t a, Py_ssize_t b)
{
    Py_ssize_t ranking_a = a % p->n_rankings, ranking_b = b % p->n_rankings, both = 0;
    const int32_t *open = p->open_at + ranking_b * p->depth, *place = p->place + ranking_b * p->depth;
    const int32_t *at_a = p->at + a * p->at_step, *at_b = p->at + b * p->at_step, depth = (int32_t)p->depth;
    const int16_t *rank = p->rank + ranking_a * p->n_documents;
    for (int32_t t = 0; t < depth; t++)
        p->in_b[t] = depth;
    for (Py_ssize_t j = 0; j < p->n_open[ranking_b]; j++) {
        int32_t t = open[j], r = rank[place[t]] - 1;
        p->in_a[t] = depth;
        if (r >= 0 && r < depth) {
            p->in_a[t] = at_a[r];
            p->in_b[r] = at_b[t];
            both++;
        }
    }
    return both;
}

/* Whether two rows have a tie group in the same places with the same documents: then it is the same for both, in any
 * order. */
static int share_a_group(const Precisions *p, Py_ssize_t a, Py_ssize_t b)
{
    if (p->group == NULL)
        return 0;
    const uint64_t *in_a = p->group + a % p->n_rankings * p->depth, *in_b = p->group + b % p->n_rankings * p->depth;
    for (Py_ssize_t t = 0; t < p->depth; t++)
        if (in_a[t] && in_a[t] == in_b[t])
            return 1;
    return 0;
}

/* The most that A - B can be, as `greatest_of_minima` and the ranges of the two say. */
static double pair_bound(const Precisions *p, Py_ssize_t a, Py_ssize_t b, const int32_t *in_b, const int32_t *in_a,
                         Py_ssize_t both, int64_t unjudged)
{
    Py_ssize_t depth = p->depth, ranking_a = a % p->n_rankings, ranking_b = b % p->n_rankings;
    Py_ssize_t n = p->n_open[ranking_a], n_b = p->n_open[ranking_b];
    const double *known_a = p->known + a * (depth + 1), *known_b = p->known + b * (depth + 1);
    const double *sums_a = p->open + a * (depth + 1), *fewest = p->fewest + b * (depth + 1);
    const double *inverse = p->inverse, *in_both = p->in_both;
    const int32_t *open_a = p->open_at + ranking_a * depth, *open_b = p->open_at + ranking_b * depth;
    const int32_t *at_a = p->at + a * p->at_step, *at_b = p->at + b * p->at_step;
    double *gain = p->gain, base = p->sum[a] - p->sum[b], R = p->R[ranking_b], more = base;
    for (Py_ssize_t j = 0; j < n; j++) {
        int32_t t = at_a[open_a[j]], r = in_b[open_a[j]];
        double own = inverse[t] - inverse[r];
        double others = sums_a[t] - in_both[r > t ? r : t] - (own > 0 ? own : 0.0);
        gain[j] = known_a[t] - known_b[r] + own + (others > 0 ? others : 0.0) / 2;
    }
    for (Py_ssize_t j = 0; j < n && more < 0; j++)
        more += gain[j] > 0 ? gain[j] : 0.0;
    Py_ssize_t together = n + n_b - both;
    double greatest;
    if (more >= 0)
        greatest = greatest_ratio(base, R, gain, n, base > 0 && R > 0 ? base / R : 0.0);
    else { /* B is ahead however one judges: all that is relevant brings the ratio nearer to 0 */
        for (Py_ssize_t j = 0; j < n_b; j++)
            if (in_a[open_b[j]] == depth)
                gain[n++] = -known_b[at_b[open_b[j]]] - inverse[at_b[open_b[j]]];
        double divisor = R + (unjudged > together ? unjudged - together : 0);
        greatest = greatest_ratio(base, divisor, gain, n, base / divisor);
    }
    double apart = R + (unjudged > n_b ? unjudged - n_b : 0), low = 0.0;
    if (R > 0) {
        low = fewest[0] / apart;
        if (p->high[a] - low < greatest)
            for (Py_ssize_t m = 1; m <= n_b; m++)
                if (fewest[m] < low * (apart + m))
                    low = fewest[m] / (apart + m);
    }
    return p->high[a] - low < greatest ? p->high[a] - low : greatest;
}

/* The most that A - B can be, and the most that B - A can be; nan where they share a tie group. */
static void bound_pair(const Precisions *p, Py_ssize_t i)
{
    Py_ssize_t a = p->a[i], b = p->b[i], both = find_open(p, a, b);
    const int32_t *at = p->at + a * p->at_step;
    memset(p->counts, 0, (size_t)p->depth * sizeof *p->counts);
    for (Py_ssize_t t = 0; t < p->depth; t++)
        if (p->in_b[t] < p->depth)
            p->counts[p->in_b[t] > at[t] ? p->in_b[t] : at[t]]++;
    sums_of_minima(p->counts, p->depth, p->inverse, p->in_both);
    int alike = share_a_group(p, a, b);
    p->result[i] = alike ? (double)NAN : pair_bound(p, a, b, p->in_b, p->in_a, both, p->others[i]);
    p->result[p->n_pairs + i] = alike ? (double)NAN : pair_bound(p, b, a, p->in_a, p->in_b, both, p->others[i]);
}

/* What A - B is if all that A has above B is relevant, and what neither has all relevant, or not at all. */
static void witness_pair(const Precisions *p, Py_ssize_t i)
{
    Py_ssize_t depth = p->depth, a = p->a[i], b = p->b[i], n_a = 0, n_b = 0, n = 0;
    const uint8_t *holds_a = p->holds + a * depth, *holds_b = p->holds + b * depth;
    double difference = 0.0;
    find_open(p, a, b);
    for (Py_ssize_t t = 0; t < depth; t++) {
        int above = holds_a[t] == OPEN && p->in_b[t] > t;
        n += above;
        if (above || holds_a[t] == KNOWN)
            difference += ++n_a * p->inverse[t];
        if (holds_b[t] == KNOWN || (holds_b[t] == OPEN && p->in_a[t] < t))
            difference -= ++n_b * p->inverse[t];
    }
    double R = p->R[a] + n;
    p->result[i] = R > 0 ? difference / (difference < 0 ? R + p->others[i] : R) : 0.0;
}

/* Whether all that is an index points to something. */
static int has_rows(const Precisions *p)
{
    for (Py_ssize_t i = 0; i < p->n_pairs; i++)
        if (p->a[i] < 0 || p->a[i] >= p->n_rows || p->b[i] < 0 || p->b[i] >= p->n_rows)
            return 0;
    for (Py_ssize_t i = 0; i < p->n_rankings * p->depth; i++)
        if (p->holds[i] == OPEN && (p->place[i] < 0 || p->place[i] >= p->n_documents))
            return 0;
    for (Py_ssize_t i = 0; p->at_step && i < p->n_rows * p->depth; i++)
        if (p->at[i] < 0 || p->at[i] >= p->depth)
            return 0;
    return 1;
}

/* 0 where there is no memory. */
static int look_at_pairs(Precisions *p, int witnesses)
{
    size_t rows = (size_t)p->n_rows, depth = (size_t)p->depth;
    double *sums = allocated(3 * rows * (depth + 1) + 2 * rows + 4 * depth + 2, sizeof *sums);
    int32_t *ranks = allocated(rows * depth + 4 * depth, sizeof *ranks);
    p->n_open = allocated(rows, sizeof *p->n_open);
    int fits = sums && ranks && p->n_open;
    if (fits) {
        p->known = sums;
        p->open = p->known + rows * (depth + 1);
        p->fewest = p->open + rows * (depth + 1);
        p->sum = p->fewest + rows * (depth + 1);
        p->high = p->sum + rows;
        p->inverse = p->high + rows;
        p->in_both = p->inverse + depth + 1;
        p->gain = p->in_both + depth + 1;
        p->open_at = ranks;
        p->counts = ranks + rows * depth;
        p->in_a = p->counts + depth;
        p->in_b = p->in_a + depth;
        for (size_t t = 0; t < depth; t++)
            p->inverse[t] = 1 / (double)(t + 1);
        p->inverse[depth] = 0.0;
        int32_t *as_they_are = p->in_b + depth;
        for (size_t t = 0; t < depth; t++)
            as_they_are[t] = (int32_t)t;
        p->at = p->at_step ? p->at : as_they_are;
        for (Py_ssize_t ranking = 0; ranking < p->n_rankings; ranking++)
            list_open(p, ranking);
        for (Py_ssize_t row = 0; row < p->n_rows && !witnesses; row++)
            prepare_row(p, row);
        for (Py_ssize_t i = 0; i < p->n_pairs; i++)
            (witnesses ? witness_pair : bound_pair)(p, i);
    }
    free(sums);
    free(ranks);
    free(p->n_open);
    return fits;
}

static PyObject *precision_pairs(PyObject *module, PyObject *args)
{
    Precisions p;
    Py_buffer rank, place, holds, R, group, at, sorted, a, b, others, result;
    int witnesses;
    if (!PyArg_ParseTuple(args, "pny*y*y*y*y*y*y*y*y*y*w*", &witnesses, &p.n_documents, &rank, &place, &holds, &R,
                          &group, &at, &sorted, &a, &b, &others, &result))
        return NULL;
    PyObject *answer = NULL;
    p.n_rankings = R.len / 8;
    p.n_pairs = a.len / 8;
    p.depth = p.n_rankings ? holds.len / p.n_rankings : 0;
    p.at_step = at.len ? p.depth : 0;
    p.n_rows = p.at_step ? at.len / 4 / p.depth : p.n_rankings;
    if (p.n_documents < 1 || p.n_documents > PY_SSIZE_T_MAX / 2 || p.depth > INT16_MAX) {
        PyErr_SetString(PyExc_ValueError, "no documents, or too many");
        goto done;
    }
    if (witnesses && p.at_step) {
        PyErr_SetString(PyExc_ValueError, "witnesses take rankings as they are");
        goto done;
    }
    if (!has_size(&rank, p.n_rankings, 2 * p.n_documents) || !has_size(&holds, p.n_rankings, p.depth) ||
        !has_size(&place, p.n_rankings, 4 * p.depth) || !has_size(&R, p.n_rankings, 8) ||
        (group.len && !has_size(&group, p.n_rankings, 8 * p.depth)) || !has_size(&at, p.n_rows, 4 * p.at_step) ||
        !has_size(&sorted, p.n_rows, p.depth) || !has_size(&a, p.n_pairs, 8) || !has_size(&b, p.n_pairs, 8) ||
        !has_size(&others, p.n_pairs, 8) || !has_size(&result, p.n_pairs, witnesses ? 8 : 16))
        goto done;
    const Py_buffer *read[] = {&rank, &place, &holds, &R, &group, &at, &sorted, &a, &b, &others};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (!is_apart(&result, read[i]))
            goto done;
    p.rank = rank.buf;
    p.place = place.buf;
    p.holds = holds.buf;
    p.R = R.buf;
    p.group = group.len ? group.buf : NULL;
    p.at = at.buf;
    p.sorted = sorted.buf;
    p.a = a.buf;
    p.b = b.buf;
    p.others = others.buf;
    p.result = result.buf;
    if (!has_rows(&p)) {
        PyErr_SetString(PyExc_ValueError, "no such rows or documents");
        goto done;
    }
    int fits;
    Py_BEGIN_ALLOW_THREADS
    fits = look_at_pairs(&p, witnesses);
    Py_END_ALLOW_THREADS
    answer = fits ? Py_NewRef(Py_None) : PyErr_NoMemory();
done:
    PyBuffer_Release(&rank);
    PyBuffer_Release(&place);
    PyBuffer_Release(&holds);
    PyBuffer_Release(&R);
    PyBuffer_Release(&group);
    PyBuffer_Release(&at);
    PyBuffer_Release(&sorted);
    PyBuffer_Release(&a);
    PyBuffer_Release(&b);
    PyBuffer_Release(&others);
    PyBuffer_Release(&result);
    return answer;
}

/* -------------------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"parse_lines", parse_lines, METH_VARARGS, "Columns of a text, or None where its lines are not plain."},
    {"dict_columns", dict_columns, METH_VARARGS, "Columns of a dict of dicts, or None where its values are not plain."},
    {"score_dict", score_dict, METH_VARARGS, "Scores of a dict of dicts, or None where its values are not plain."},
    {"list_ids", list_ids, METH_VARARGS, "A list of ids as words, or None where some are no proper ids."},
    {"cut_ids", cut_ids, METH_VARARGS, "Ids that were joined to one text, as words."},
    {"document_keys", document_keys, METH_VARARGS, "A key for each text."},
    {"has_repeats", has_repeats, METH_VARARGS, "Whether a topic has a document twice, or two of one key."},
    {"number_documents", number_documents, METH_VARARGS, "Each document's number, and where it comes first."},
    {"count_distinct", count_distinct, METH_VARARGS, "How many distinct keys several lists of them have."},
    {"index_judgments", index_judgments, METH_VARARGS, "A table for each topic to look its judgments up in."},
    {"rank_rows", rank_rows, METH_VARARGS, "Rows in order of topic and score, with what is known of each."},
    {"place_sums", place_sums, METH_VARARGS, "Sums over the places of each topic, many draws side by side."},
    {"count_levels", count_levels, METH_VARARGS, "How many documents of each topic have each level, by draw."},
    {"draw_levels", draw_levels, METH_VARARGS, "Levels of documents in many draws, from lots and logits."},
    {"precision_pairs", precision_pairs, METH_VARARGS, "How far APs can be apart, or are in one judging; many pairs."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "fathoms._kernel", "Many passes of numpy in one.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    fill_chances();
    return PyModuleDef_Init(&definition);
}
