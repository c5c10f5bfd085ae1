"""Makes mangled C++ names readable, template arguments and parameters left out.

The grammar is that of the Itanium C++ ABI (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
Only names are built; types are passed over. Names come from strangers' files: whatever is not
understood, too deep or too long comes back as it is.
"""

import re

from tfbuild.code.cursor import Cursor, NotUnderstoodError

_LONGEST = 60_000
_DEEPEST = 100
_THUNK = re.compile(r"h\w?\d*_|v\w?\d*_\w?\d*_|c(?:h\w?\d*_|v\w?\d*_\w?\d*_){2}")
_ABBREVIATIONS = {
    "t": "std",
    "a": "std::allocator",
    "b": "std::basic_string",
    "s": "std::basic_string",
    "i": "std::basic_istream",
    "o": "std::basic_ostream",
    "d": "std::basic_iostream",
}
_SPECIAL = {
    "TV": "vtable for ",
    "TT": "VTT for ",
    "TI": "typeinfo for ",
    "TS": "typeinfo name for ",
    "TW": "TLS wrapper function for ",
    "TH": "TLS init function for ",
    "GV": "guard variable for ",
    "GR": "reference temporary for ",
}
_THUNKS = {
    "h": "non-virtual thunk to ",
    "v": "virtual thunk to ",
    "c": "covariant return thunk to ",
}
_SIMPLE = frozenset("vwbcahstijlmxynofdegz")
_OPERATORS = {
    "": "nw: new", "na": " new[]", "dl": " delete", "da": " delete[]", "aw": " co_await",
    "ps": "+", "ng": "-", "ad": "&", "de": "*", "co": "~", "pl": "+", "mi": "-", "ml": "*",
    "dv": "/", "rm": "%", "an": "&", "eo": "^", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=",
    "dV": "/=", "rM": "%=", "aN": "&=", "eO": "^=", "ls": "<<", "rs": ">>", "lS": "<<=",
    "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "ss": "<=>", "nt": "!", "aa": "&&", "pp": "++", "mm": "--", "cm": ",", "pm": "->*",
    "pt": "->", "cl": "()", "ix": "[]", "qu": "?", "or": "|", "oR": "|=", "oo": "||",
}  # fmt: skip


def readable(symbol: str) -> str:
    """Return a readable name: "Eigen::internal::gebp_kernel::operator()".

    Never raises: what is not understood comes back as it is.
    """
    if not symbol.startswith("_Z") or len(symbol) > _LONGEST:
        return symbol
    try:
        return _Reader(symbol).mangled()
    except (NotUnderstoodError, IndexError, ValueError, RecursionError):
        return symbol


class _Reader(Cursor):
    """Reads a mangled name from left to right; each method leaves `at` behind what it read."""

    depth = 0

    def mangled(self) -> str:
        self.expect("_Z")
        return self._encoding()

    def _encoding(self) -> str:
        """Read a name; the parameters' types behind it are left for the caller."""
        start = self.text[self.at : self.at + 2]
        if start[:1] == "T" and start[1:] in _THUNKS:
            self.at += 1
            self.match(_THUNK)
            return _THUNKS[start[1]] + self._encoding()
        if start in _SPECIAL:
            self.at += 2
            return _SPECIAL[start] + self._name()
        return self._name()

    def _name(self) -> str:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotUnderstoodError
        peek = self.text[self.at]
        if peek == "N":
            name = self._nested()
        elif peek == "Z":
            name = self._local()
        else:
            name = self._unscoped()
        self.depth -= 1
        return name

    def _unscoped(self) -> str:
        is_short = self.peek("S")
        name = self._substitution() if is_short else ""
        if not is_short or name == "std":
            name = _join(name, self._unqualified(""))
        self._skip_arguments()
        return name

    def _nested(self) -> str:
        self.expect("N")
        self.match(re.compile("[rVK]*[RO]?"))
        name = last = ""
        while not self.take("E"):
            peek = self.text[self.at]
            if peek == "I":
                self._skip_arguments()
            elif peek == "S":
                name = _join(name, self._substitution())
                last = name.rpartition("::")[2]
            elif peek == "T" or self.peek(("Dt", "DT")):
                self._skip_type()
            else:
                last = self._unqualified(last)
                name = _join(name, last)
            self.take("M")
        return name

    def _local(self) -> str:
        self.expect("Z")
        outer = self._encoding()
        while not self.take("E"):
            self._skip_type()
        if self.take("s"):
            self._discriminator()
            return f"{outer}::string literal"
        if self.take("d"):
            self.match(re.compile(r"\d*_"))
        name = self._name()
        self._discriminator()
        return _join(outer, name)

    def _discriminator(self) -> None:
        self.match(re.compile(r"(?:_\d|__\d+_)?"))

    def _unqualified(self, last: str) -> str:
        """Read one name without scopes; constructors are called as `last`, their class."""
        text, at = self.text, self.at
        self.take("L")  # internal linkage
        if text[self.at].isdigit():
            name = self._identifier()
        elif text[at] == "C" and text[at + 1] in "12345I":
            self.at += 2
            self.match(re.compile("[1-3]?"))
            name = last
        elif text[at] == "D" and text[at + 1] in "01245":
            self.at += 2
            name = f"~{last}"
        elif text[at] == "U":
            name = self._unnamed()
        elif self.take("DC"):
            name = ", ".join(self._identifiers())
        else:
            name = self._operator()
        while self.take("B"):
            self._identifier()
        return name

    def _identifiers(self) -> list[str]:
        found = []
        while not self.take("E"):
            found.append(self._identifier())
        return found

    def _identifier(self) -> str:
        length = int(self.match(re.compile(r"\d{1,5}")))
        end = self.at + length
        name = self.text[self.at : end]
        if len(name) < length:
            raise NotUnderstoodError
        self.at = end
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N") else name

    def _unnamed(self) -> str:
        if self.take("Ut"):
            number = self.match(re.compile(r"\d*_"))[:-1]
            return f"{{unnamed type#{int(number) + 2 if number else 1}}}"
        self.expect("Ul")
        while not self.take("E"):
            if not self.take("Ty"):
                self._skip_type()
        number = self.match(re.compile(r"\d*_"))[:-1]
        return f"{{lambda#{int(number) + 2 if number else 1}}}"

    def _operator(self) -> str:
        code = self.text[self.at : self.at + 2]
        self.at += 2
        if code == "cv":
            self._skip_type()
            return "operator"
        if code == "li":
            return f'operator"" {self._identifier()}'
        if code not in _OPERATORS:
            raise NotUnderstoodError
        return f"operator{_OPERATORS[code]}"

    def _substitution(self) -> str:
        self.expect("S")
        code = self.text[self.at]
        if code in _ABBREVIATIONS:
            self.at += 1
            return _ABBREVIATIONS[code]
        self.match(re.compile("[0-9A-Z]*_"))
        return ""  # something said before, which is not remembered

    def _skip_arguments(self) -> None:
        if not self.take("I"):
            return
        while not self.take("E"):
            self._skip_argument()

    def _skip_argument(self) -> None:
        if self.take("J"):
            while not self.take("E"):
                self._skip_argument()
        elif self.take("L"):
            self._skip_literal()
        elif self.take("X"):
            self._skip_expression()
        else:
            self._skip_type()

    def _skip_literal(self) -> None:
        if self.take("_Z"):
            self._encoding()
            while not self.take("E"):
                self._skip_type()
            return
        self._skip_type()
        self.match(re.compile("[0-9a-fn_]*E"))

    def _skip_expression(self) -> None:
        """Pass over an expression to its E, by what opens and closes within it."""
        while not self.take("E"):
            peek = self.text[self.at]
            if self.take("L"):
                self._skip_literal()
            elif peek == "X":
                self.at += 1
                self._skip_expression()
            elif peek == "I":
                self._skip_arguments()
            elif peek in "NSTZ" or peek.isdigit():
                self._skip_type()
            elif self.take("sr"):
                self._skip_scope()
            elif self.take("cv") or self.take("st") or self.take("sZ"):
                self._skip_type()
            else:
                self.at += 2

    def _skip_scope(self) -> None:
        if not self.text[self.at].isdigit():
            self._skip_type()
            return
        while not self.take("E"):
            self._skip_type()

    def _skip_type(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotUnderstoodError
        self.match(re.compile("[rVKPROCG]*"))
        peek = self.text[self.at]
        if peek in _SIMPLE:
            self.at += 1
        elif peek == "F":
            self._skip_function()
        elif peek == "A":
            self._skip_array()
        elif peek == "M":
            self.at += 1
            self._skip_type()
            self._skip_type()
        elif peek == "T":
            self.match(re.compile(r"T(?:L\d*_)?\d*_|T[sue]"))
            self._skip_arguments()
        elif peek == "D" and self.text[self.at + 1] != "C":
            self._skip_d()
        elif peek == "u":
            self.at += 1
            self._identifier()
            self._skip_arguments()
        else:
            self._name()
            self._skip_arguments()
        self.depth -= 1

    def _skip_function(self) -> None:
        self.match(re.compile("FY?"))
        while not self.take("E"):
            if not self.match(re.compile("[RO](?=E)|")):
                self._skip_type()

    def _skip_array(self) -> None:
        self.at += 1
        if not self.match(re.compile(r"\d*_|")):
            while not self.take("_"):
                self.at += 1
        self._skip_type()

    def _skip_d(self) -> None:
        code = self.text[self.at + 1]
        self.at += 2
        if code in "tT":
            self._skip_expression()
        elif code == "p":
            self._skip_type()
        elif code == "v":
            self.match(re.compile(r"\d*_"))
            self._skip_type()
        elif code in "FBU":
            self.match(re.compile(r"\d*[_xb]?_?"))
        elif code in "oOx":
            self._skip_type()
        # Else a type of its own: Dn is nullptr_t, Da auto.


def _join(scope: str, name: str) -> str:
    return f"{scope}::{name}" if scope and name else scope or name
