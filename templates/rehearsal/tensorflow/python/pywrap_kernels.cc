// The kernels as a CPython extension. Arrays are objects with the buffer protocol (array.array).
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tensorflow/core/kernels/kernels.h"

namespace {

// A contiguous view on an argument; released when it goes out of scope.
class View {
 public:
  View() { view_.obj = nullptr; }
  ~View() { PyBuffer_Release(&view_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  bool Take(PyObject* object, bool writable) {
    return PyObject_GetBuffer(object, &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) == 0;
  }
  template <typename T>
  T* As() const { return static_cast<T*>(view_.buf); }
  std::size_t Bytes() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_ = {};
};

bool Check(bool fits) {
  if (!fits) PyErr_SetString(PyExc_ValueError, "arrays differ in size");
  return fits;
}

// (x, y) -> number
template <typename T, T (*kKernel)(const T*, const T*, std::size_t)>
PyObject* Reduce2(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
  View x, y;
  if (!x.Take(a, false) || !y.Take(b, false) || !Check(x.Bytes() == y.Bytes())) return nullptr;
  return PyFloat_FromDouble(kKernel(x.As<T>(), y.As<T>(), x.Bytes() / sizeof(T)));
}

// (x) -> number
template <float (*kKernel)(const float*, std::size_t)>
PyObject* Reduce1(PyObject*, PyObject* args) {
  PyObject* a;
  if (!PyArg_ParseTuple(args, "O", &a)) return nullptr;
  View x;
  if (!x.Take(a, false) || !Check(x.Bytes() >= sizeof(float))) return nullptr;
  return PyFloat_FromDouble(kKernel(x.As<float>(), x.Bytes() / sizeof(float)));
}

// (x, out)
template <typename T, typename U, void (*kKernel)(const T*, U*, std::size_t)>
PyObject* Map1(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
  View x, out;
  if (!x.Take(a, false) || !out.Take(b, true) || !Check(x.Bytes() == out.Bytes())) return nullptr;
  kKernel(x.As<T>(), out.As<U>(), x.Bytes() / sizeof(T));
  Py_RETURN_NONE;
}

// (a, x, out)
template <void (*kKernel)(float, const float*, float*, std::size_t)>
PyObject* Scaled(PyObject*, PyObject* args) {
  float factor;
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "fOO", &factor, &a, &b)) return nullptr;
  View x, out;
  if (!x.Take(a, false) || !out.Take(b, true) || !Check(x.Bytes() == out.Bytes())) return nullptr;
  kKernel(factor, x.As<float>(), out.As<float>(), x.Bytes() / sizeof(float));
  Py_RETURN_NONE;
}

// (a, x, y, out)
template <typename T, void (*kKernel)(T, const T*, const T*, T*, std::size_t)>
PyObject* Axpy(PyObject*, PyObject* args) {
  double factor;
  PyObject *a, *b, *c;
  if (!PyArg_ParseTuple(args, "dOOO", &factor, &a, &b, &c)) return nullptr;
  View x, y, out;
  if (!x.Take(a, false) || !y.Take(b, false) || !out.Take(c, true) ||
      !Check(x.Bytes() == y.Bytes() && x.Bytes() == out.Bytes())) {
    return nullptr;
  }
  kKernel(static_cast<T>(factor), x.As<T>(), y.As<T>(), out.As<T>(), x.Bytes() / sizeof(T));
  Py_RETURN_NONE;
}

// (x, y, out)
PyObject* Multiply64(PyObject*, PyObject* args) {
  PyObject *a, *b, *c;
  if (!PyArg_ParseTuple(args, "OOO", &a, &b, &c)) return nullptr;
  View x, y, out;
  if (!x.Take(a, false) || !y.Take(b, false) || !out.Take(c, true) ||
      !Check(x.Bytes() == y.Bytes() && x.Bytes() == out.Bytes())) {
    return nullptr;
  }
  rehearsal::Multiply64(x.As<std::int64_t>(), y.As<std::int64_t>(), out.As<std::int64_t>(),
                        x.Bytes() / sizeof(std::int64_t));
  Py_RETURN_NONE;
}

// (mask, x, y, out)
PyObject* Select64(PyObject*, PyObject* args) {
  PyObject *a, *b, *c, *d;
  if (!PyArg_ParseTuple(args, "OOOO", &a, &b, &c, &d)) return nullptr;
  View mask, x, y, out;
  if (!mask.Take(a, false) || !x.Take(b, false) || !y.Take(c, false) || !out.Take(d, true) ||
      !Check(x.Bytes() == y.Bytes() && x.Bytes() == out.Bytes() && x.Bytes() == mask.Bytes())) {
    return nullptr;
  }
  rehearsal::Select64(mask.As<std::int64_t>(), x.As<std::int64_t>(), y.As<std::int64_t>(),
                      out.As<std::int64_t>(), x.Bytes() / sizeof(std::int64_t));
  Py_RETURN_NONE;
}

// (n, a, b, out)
PyObject* MatMul(PyObject*, PyObject* args) {
  Py_ssize_t n;
  PyObject *a, *b, *c;
  if (!PyArg_ParseTuple(args, "nOOO", &n, &a, &b, &c)) return nullptr;
  View x, y, out;
  if (!x.Take(a, false) || !y.Take(b, false) || !out.Take(c, true)) return nullptr;
  const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * sizeof(float);
  if (!Check(n >= 0 && x.Bytes() == bytes && y.Bytes() == bytes && out.Bytes() == bytes)) {
    return nullptr;
  }
  rehearsal::MatMul(x.As<float>(), y.As<float>(), out.As<float>(), static_cast<std::size_t>(n));
  Py_RETURN_NONE;
}

// (x, kernel, out)
PyObject* Conv3(PyObject*, PyObject* args) {
  PyObject *a, *b, *c;
  if (!PyArg_ParseTuple(args, "OOO", &a, &b, &c)) return nullptr;
  View x, kernel, out;
  if (!x.Take(a, false) || !kernel.Take(b, false) || !out.Take(c, true) ||
      !Check(kernel.Bytes() == 3 * sizeof(float) && out.Bytes() + 2 * sizeof(float) == x.Bytes())) {
    return nullptr;
  }
  rehearsal::Conv3(x.As<float>(), kernel.As<float>(), out.As<float>(), x.Bytes() / sizeof(float));
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"dot", Reduce2<float, rehearsal::Dot>, METH_VARARGS, nullptr},
    {"dot_double", Reduce2<double, rehearsal::DotDouble>, METH_VARARGS, nullptr},
    {"sum", Reduce1<rehearsal::Sum>, METH_VARARGS, nullptr},
    {"max", Reduce1<rehearsal::Max>, METH_VARARGS, nullptr},
    {"saxpy", Axpy<float, rehearsal::Saxpy>, METH_VARARGS, nullptr},
    {"daxpy", Axpy<double, rehearsal::Daxpy>, METH_VARARGS, nullptr},
    {"relu", Map1<float, float, rehearsal::Relu>, METH_VARARGS, nullptr},
    {"leaky_relu", Scaled<rehearsal::LeakyRelu>, METH_VARARGS, nullptr},
    {"exp", Map1<float, float, rehearsal::Exp>, METH_VARARGS, nullptr},
    {"sqrt", Map1<float, float, rehearsal::Sqrt>, METH_VARARGS, nullptr},
    {"scale", Scaled<rehearsal::Scale>, METH_VARARGS, nullptr},
    {"matmul", MatMul, METH_VARARGS, nullptr},
    {"conv3", Conv3, METH_VARARGS, nullptr},
    {"multiply64", Multiply64, METH_VARARGS, nullptr},
    {"select64", Select64, METH_VARARGS, nullptr},
    {"to_double", Map1<std::uint64_t, double, rehearsal::ToDouble>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_pywrap_kernels", nullptr, -1, kMethods,
                       nullptr,               nullptr,           nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__pywrap_kernels() { return PyModule_Create(&kModule); }
