// The compiled part of {fmt}. Debian packages it only as a shared library, whose name changes with each release of Debian. npar compiles
// the same code from the headers instead, so that its programs and libraries run on later releases too.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// These instances are declared in format.h and defined in the library.
template FMT_API auto dragonbox::to_decimal(float value) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double value) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API locale_ref::locale_ref(const std::locale &locale);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char *, const char *);
template FMT_API void vformat_to(buffer<char> &, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);

} // namespace detail
FMT_END_NAMESPACE
