# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCODE=1 -DTEXT=regex -P expect.cmake -- COMMAND...: the command must exit with this status and print this text.
set(command)
set(after FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
    if(after)
        list(APPEND command "${CMAKE_ARGV${i}}")
    elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
        set(after TRUE)
    endif()
endforeach()
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT code EQUAL CODE OR NOT "${errors}${output}" MATCHES "${TEXT}")
    message(FATAL_ERROR "exit status ${code}, not ${CODE}, or no '${TEXT}' in:\n${errors}${output}")
endif()
