// SPDX-License-Identifier: Apache-2.0
// GETs each URL with java.net.http (NIO underneath); prints "STATUS BODY" or the error.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

public class Fetch {
    public static void main(String[] urls) throws Exception {
        HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(20)).build();
        for (String url : urls) {
            try {
                HttpResponse<String> answer = client.send(HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString());
                System.out.println(answer.statusCode() + " " + answer.body());
            } catch (java.io.IOException e) {
                System.out.println("error: " + e);
                System.exit(1);
            }
        }
    }
}
